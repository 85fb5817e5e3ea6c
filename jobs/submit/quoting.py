"""Quote: a job's seconds and money before it runs, on the sizes of its own pictures.

For a dry run, and for the budget. On this machine earlier jobs tell; else the planner does.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import islice
from statistics import fmean
from typing import Any

from infra.catalogue.offers import Offer
from infra.errors import InfraError
from infra.models.spec import ModelSpec
from infra.offers import find_offer
from infra.planner.ask import ANY, Limits, Request, quote
from infra.planner.local import LocalQuote, quote_local
from infra.planner.measured import Measured
from infra.planner.quote import Quote
from infra.planner.report import local_to_json, to_json
from infra.planner.workload import Workload
from jobs.errors import ManifestError
from jobs.history import recall
from jobs.inputs.headers import SizeSample, sample_sizes
from jobs.inputs.pin import addresses_of
from jobs.manifest.manifest import Manifest, job_id
from jobs.offers import offers
from jobs.policy.expected import expected_window_s
from jobs.schema.worst_case import default_max_tokens
from jobs.settings.settings import Settings
from jobs.store.bucket import Store
from jobs.submit.planning import AUTO, LOCAL, plan_for, spec_for
from jobs.tasks import resolve_task

COUNTED = 100_000  # inputs that are counted before it says "at least"
CHARACTERS_A_TOKEN = 3  # of a prompt; English has about four, and a quote must not be too low
TEMPLATE_TOKENS = 32  # of the chat template around it
SMALLER_SIDES = (1024, 768, 512)  # of a square picture, in pixels
USUAL_SIZE = (1920, 1080)  # when not one header could be read


@dataclass(frozen=True, slots=True)
class Facts:
    """What a quote rests on, looked up once.

    images    inputs, counted to the end only when `counted`, as it is for a budget
    sample    the pictures whose headers were read
    known     by kind of node, what earlier jobs of this model measured
    """

    spec: ModelSpec
    images: int
    counted: bool
    sample: SizeSample
    known: Mapping[str, Measured]


@dataclass(frozen=True, slots=True)
class JobQuote:
    """A job before it runs. One of `local` and `rented` is set."""

    facts: Facts
    local: LocalQuote | None = None
    rented: Quote | None = None

    @property
    def usd(self) -> Decimal | None:
        """Expected cost; None is unknown."""
        if self.local is not None:
            return self.local.cost.usd if self.local.cost else None
        choice = self.rented.choice if self.rented else None
        return choice.cost.usd if choice and choice.cost else None

    @property
    def offer(self) -> Offer | None:
        """Where it would run; None when no offer can do it."""
        if self.local is not None:
            return self.local.plan.offer
        return self.rented.choice.offer if self.rented and self.rented.choice else None


def quote_to_json(quoted: JobQuote, manifest: Manifest) -> dict[str, Any]:
    """The quote as a dry run shows it, with the job and how its sizes are known."""
    facts = quoted.facts
    if quoted.local is not None:
        shown = local_to_json(quoted.local, facts.spec)
    else:
        assert quoted.rented is not None, "a quote is local or rented"
        shown = to_json(quoted.rented)
    if not facts.counted:
        shown["warnings"].append(f"there are more than {COUNTED:,} inputs; these were counted")
    if not facts.sample.read:
        shown["warnings"].append("not one picture's header could be read: 1920x1080 is assumed")
    return {
        "job_id": job_id(manifest),
        "output": manifest.output,
        "headers": {"read": facts.sample.read, "asked": facts.sample.asked},
        **shown,
    }


def gather(store: Store, settings: Settings, manifest: Manifest) -> Facts:
    """Look up what a quote rests on; `ManifestError` when there is nothing to work on."""
    inputs = addresses_of(store, manifest.inputs)
    found = list(islice(inputs, COUNTED))
    if not found:
        raise ManifestError("inputs: there are no pictures")
    budgeted = manifest.budget.max_usd is not None  # which must not be held against a part
    more = sum(1 for _ in (inputs if budgeted else islice(inputs, 1)))
    return Facts(
        spec=spec_for(store, manifest),
        images=len(found) + (more if budgeted else 0),
        counted=budgeted or not more,
        sample=sample_sizes(store, found),
        known=recall(store, settings.bucket, manifest.model),
    )


def quote_job(facts: Facts, settings: Settings, manifest: Manifest) -> JobQuote:
    """Seconds and USD of a job, on the sizes of a sample of its pictures; of several offers, on the
    first."""
    node = manifest.hardware.offers[0]
    here = facts.known.get(node)
    try:
        work = workload(manifest, facts)
        if node == LOCAL:
            plan = plan_for(manifest, settings)
            idle_s = expected_window_s(settings, here.startup_s if here else None)
            local = quote_local(plan, facts.spec, work, here, idle_s)
            return JobQuote(facts, local=local)
        request = Request(facts.spec, work, manifest.hardware.quantization, facts.known)
        _check_rented(manifest)
        wanted = _wanted(node, offers(settings))
        return JobQuote(facts, rented=quote(request, _limits(manifest), wanted, date.today()))
    except InfraError as error:
        raise ManifestError(str(error)) from error


def cheaper(facts: Facts, settings: Settings, manifest: Manifest) -> list[tuple[str, Decimal]]:
    """Changes to the manifest that would lower the quote, each with the new quote in USD."""
    found = []
    for what, other in _changes(manifest):
        with suppress(ManifestError):  # of a change that this model or these offers do not allow
            usd = quote_job(facts, settings, other).usd
            found += [] if usd is None else [(what, usd)]
    return found


def _changes(manifest: Manifest) -> Iterator[tuple[str, Manifest]]:
    """What a user could give up, one thing at a time."""
    for side in SMALLER_SIDES:
        image = manifest.image.model_copy(update={"max_pixels": side**2, "min_pixels": None})
        if manifest.image.max_pixels is None or manifest.image.max_pixels > side**2:
            yield f"image.max_pixels {side**2}", manifest.model_copy(update={"image": image})
    hardware = manifest.hardware
    if hardware.deadline_s is not None:
        patient = hardware.model_copy(update={"deadline_s": None})
        yield "no hardware.deadline_s", manifest.model_copy(update={"hardware": patient})
    is_local = hardware.offers[0] == LOCAL
    if not is_local and not hardware.spot:
        interruptible = hardware.model_copy(update={"spot": True})
        yield "hardware.spot true", manifest.model_copy(update={"hardware": interruptible})
    if not is_local and hardware.quantization is None:
        narrow = hardware.model_copy(update={"quantization": "fp8"})
        yield "hardware.quantization fp8", manifest.model_copy(update={"hardware": narrow})


def workload(manifest: Manifest, facts: Facts) -> Workload:
    """The planner's view of a manifest; how long answers are, earlier jobs tell on any node."""
    task, answers = (
        resolve_task(manifest.task),
        [each.output_tokens for each in facts.known.values()],
    )
    longest = manifest.sampling.max_tokens or default_max_tokens(task.schema)
    return Workload(
        images=facts.images,
        sizes=facts.sample.sizes or (USUAL_SIZE,),
        prompt_tokens=len(task.prompt) // CHARACTERS_A_TOKEN + TEMPLATE_TOKENS,
        max_output=longest,
        mean_output=min(fmean(answers), longest) if answers else None,
        min_pixels=manifest.image.min_pixels,
        max_pixels=_most_pixels(manifest, facts.spec),
        pictures=manifest.pictures_per_prompt,
    )


def _most_pixels(manifest: Manifest, spec: ModelSpec) -> int | None:
    """The manifest's bound in pixels, or what its bound in tokens comes to where that is less."""
    pixels, tokens = manifest.image.max_pixels, manifest.image.most_tokens
    if tokens is None or not spec.image.factor:
        return pixels
    bound = max(tokens * spec.image.factor**2, spec.image.min_pixels or 1)
    return bound if pixels is None else min(pixels, bound)


def _limits(manifest: Manifest) -> Limits:
    hardware = manifest.hardware
    # Who names an offer has asked for its GPU.
    gpus = hardware.gpus if hardware.offers == (AUTO,) else hardware.gpus or (ANY,)
    return Limits(gpus, hardware.regions, hardware.deadline_s, hardware.spot)


def _wanted(name: str, known: tuple[Offer, ...]) -> list[Offer]:
    if name == AUTO:
        return list(known)
    offer = find_offer(name, known)
    if offer.gpu is None:
        raise ManifestError(
            f"hardware.offer: {name!r} has no GPU, so nothing can be told of it; allowed: an offer "
            "with one, see zeroshift offers"
        )
    return [offer]


def _check_rented(manifest: Manifest) -> None:
    if manifest.hardware.replicas > 1:
        raise ManifestError(
            'hardware.replicas: found with an offer that is not "local"; allowed: leave it out, as '
            "the plan says how many there are"
        )
