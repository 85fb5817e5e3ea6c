"""Choose: the cheapest offer that fits and meets the deadline, and why not the others."""

from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from statistics import fmean

from infra.catalogue.dates import stale
from infra.catalogue.endpoints import Endpoint as Priced
from infra.catalogue.endpoints import endpoints
from infra.catalogue.gpus import find_gpu
from infra.catalogue.offers import Offer
from infra.models.spec import ModelSpec, Quantization
from infra.planner.candidates import Judge, Unfit, Wish
from infra.planner.measured import Measured
from infra.planner.money import token_price
from infra.planner.quote import Candidate, Endpoint, Quote, Rejected, by_money
from infra.planner.weights import quantization_notes
from infra.planner.workload import Tokens, Workload, tokens_of

RUNNERS_UP = 2


def choose(
    spec: ModelSpec,
    quantization: Quantization,
    work: Workload,
    offers: Iterable[Offer],
    wish: Wish,
    known: Mapping[str, Measured],
    today: date,
) -> Quote:
    """Hold every offer against the job; the quote's choice is None when none will do.

    known   by name of the GPU, what earlier jobs of this model measured
    """
    tokens = tokens_of(spec, work)
    judge = Judge(spec, quantization, work, tokens, wish)
    found, rejected = _judged(judge, offers, known)
    found.sort(key=by_money)
    choice = found[0] if found else None
    return Quote(
        spec=spec,
        work=work,
        tokens=tokens,
        choice=choice,
        runners_up=tuple(found[1 : 1 + RUNNERS_UP]),
        rejected=(*rejected, *(_dearer(each, found[0]) for each in found[1 + RUNNERS_UP :])),
        endpoints=at_endpoints(spec, work, tokens),
        warnings=_warnings(spec, choice, today),
    )


def _judged(
    judge: Judge, offers: Iterable[Offer], known: Mapping[str, Measured]
) -> tuple[list[Candidate], list[Rejected]]:
    found: list[Candidate] = []
    rejected: list[Rejected] = []
    for offer in offers:
        if offer.gpu is None:
            continue
        try:
            found.append(judge.best(offer, find_gpu(offer.gpu), known.get(offer.gpu)))
        except Unfit as reason:
            rejected.append(Rejected(offer.name, offer.gpu, str(reason)))
    return found, rejected


def _dearer(candidate: Candidate, choice: Candidate) -> Rejected:
    assert candidate.offer is not None, "a candidate that was found has an offer"
    mine, chosen = (each.cost.usd if each.cost else None for each in (candidate, choice))
    if mine is None or chosen is None:
        reason = "price is unknown"
    else:
        reason = f"dearer: {mine:.2f} USD against {chosen:.2f}"
    return Rejected(candidate.offer.name, candidate.gpu.name, reason)


def _warnings(spec: ModelSpec, choice: Candidate | None, today: date) -> tuple[str, ...]:
    if choice is None or choice.offer is None or choice.cost is None:
        return ()
    offer, told = choice.offer, [*quantization_notes(spec, choice.quantization)]
    if choice.cost.usd is None:
        told.append(f"price of {offer.name} is unknown: the cost is unknown, not zero")
    elif stale(offer.dated, today):
        told.append(f"price of {offer.name} is of {offer.dated}: over 60 days old or undated")
    if offer.granularity_s is None:
        told.append(f"billing unit of {offer.name} is unknown: counted in whole hours")
    if choice.gpu.estimated:
        told.append(f"memory of {choice.gpu.name} as torch sees it is estimated")
    return tuple(told)


def at_endpoints(spec: ModelSpec, work: Workload, tokens: Tokens) -> tuple[Endpoint, ...]:
    """The job at the endpoints that run this model, and at those whose model nobody can have."""
    comparable = [each for each in endpoints().values() if each.model in (None, spec.name)]
    return tuple(
        Endpoint(each.name, endpoint_usd(each, work, tokens), each.source) for each in comparable
    )


def endpoint_usd(each: Priced, work: Workload, tokens: Tokens) -> Decimal | None:
    """USD of `work`; counted in our model's tokens where the endpoint does not say its own."""
    pictures = [each.image_tokens(*size) for size in work.sizes]
    counted = [count for count in pictures if count is not None]
    mean = fmean(counted) if counted else tokens.distribution.mean
    prompt = work.prompt_tokens + work.pictures * mean
    return token_price(each, work.images, prompt, work.output_tokens)
