"""The planner's front door: names and numbers as a user gives them, in; a quote, out."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from infra.catalogue.gpus import find_gpu
from infra.catalogue.models import catalogued_models
from infra.catalogue.offers import Offer, matches
from infra.errors import PlanRefused, UnknownGpu
from infra.models.spec import QUANTIZATIONS, ModelSpec, Quantization
from infra.planner.candidates import Wish
from infra.planner.choice import choose
from infra.planner.judge import Given, judge
from infra.planner.measured import Measured
from infra.planner.quote import Quote, Rejected
from infra.planner.weights import check_quantization
from infra.planner.workload import Workload

# Taken unasked: the kinds that Zeroshift is made for, and older ones that vLLM runs as well. Newer
# ones are for those who name them, until Zeroshift has been run on one.
USUAL_GPUS = ("H200", "H100", "H100-PCIe", "H100-NVL", "A100-80", "A100-PCIe", "A100-40", "L40S")
ANY = "any"
UNITS_S = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, slots=True)
class Limits:
    """What the choice is limited to: kinds of GPU, regions by pattern, a deadline, spot prices."""

    gpus: Sequence[str] = ()
    regions: Sequence[str] = ()
    deadline_s: float | None = None
    spot: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """A model and a job, and what is known of earlier ones on each kind of node."""

    spec: ModelSpec
    work: Workload
    quantization: Quantization | None = None
    known: Mapping[str, Measured] = field(default_factory=dict)


def quote(request: Request, limits: Limits, offers: Sequence[Offer], today: date) -> Quote:
    """Choose among `offers` within `limits`; `PlanRefused` when no offer is even asked for."""
    spec, quantization = variant(request.spec, request.quantization)
    wanted = wanted_gpus(limits.gpus)
    asked = [offer for offer in offers if _asked(offer, wanted, limits)]
    if not asked:
        raise PlanRefused(f"no offer {_described(limits)}; see zeroshift offers")
    wish = Wish(limits.deadline_s, limits.spot)
    found = choose(spec, quantization, request.work, asked, wish, request.known, today)
    return (
        found
        if limits.gpus
        else replace(found, rejected=(*found.rejected, *_unasked(offers, limits)))
    )


def wanted_gpus(names: Sequence[str]) -> set[str]:
    """Names in the catalogue of the kinds that are asked for; empty is every kind."""
    try:
        found = {find_gpu(name).name for name in names or USUAL_GPUS if name.casefold() != ANY}
    except UnknownGpu as error:
        raise PlanRefused(f"gpu: {error}") from error
    return set() if ANY in map(str.casefold, names) else found


def _unasked(offers: Sequence[Offer], limits: Limits) -> Iterator[Rejected]:
    """Offers that only their kind of GPU keeps out."""
    for offer in offers:
        if offer.gpu is not None and offer.gpu not in USUAL_GPUS and _asked(offer, set(), limits):
            yield Rejected(offer.name, offer.gpu, f"taken only when asked for: --gpu {offer.gpu}")


def _asked(offer: Offer, wanted: set[str], limits: Limits) -> bool:
    if offer.gpu is None:
        return False
    regions = limits.regions or (None,)
    return any(matches(offer, wanted, region, limits.spot) for region in regions)


def _described(limits: Limits) -> str:
    parts = [f"of {', '.join(limits.gpus)}"] if limits.gpus else []
    parts += [f"in {', '.join(limits.regions)}"] if limits.regions else []
    parts += ["with a known spot price"] if limits.spot else []
    return " ".join(parts) or "is known"


def judged(request: Request, gpu: str, given: Given, offers: Sequence[Offer]) -> Quote:
    """Judge a given configuration, as vLLM would run it: the quantisation is taken literally."""
    quantization = request.quantization or request.spec.quantization
    check_quantization(request.spec, quantization)
    return judge(request.spec, quantization, request.work, find_gpu(gpu), given, offers)


def variant(spec: ModelSpec, quantization: Quantization | None) -> tuple[ModelSpec, Quantization]:
    """The published checkpoint of that quantisation, where there is one."""
    if quantization is None or quantization == spec.quantization:
        return spec, spec.quantization
    for other in catalogued_models().values():
        published = other.name.startswith(spec.name) and other.quantization == quantization
        if published and spec.quantization == "none":
            return other, quantization
    check_quantization(spec, quantization)
    return spec, quantization


def read_size(text: str) -> tuple[int, int]:
    """`1920x1080` as width and height in pixels."""
    found = re.fullmatch(r"(-?\d{1,9})[xX\u00d7](-?\d{1,9})", text.strip())
    if found is None:
        raise PlanRefused(
            f"image: found {text[:40]!r}; allowed: WIDTHxHEIGHT in pixels, as 1920x1080, up to 9 "
            "digits each"
        )
    width, height = int(found[1]), int(found[2])
    if width < 1 or height < 1:
        raise PlanRefused(f"image: {width}x{height} has no pixels; allowed: 1x1 and more")
    return width, height


def read_duration(text: str) -> float:
    """`90`, `90s`, `30m`, `2h` or `1d` in seconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", text.strip())
    seconds = float(found[1]) * UNITS_S[found[2]] if found else 0
    if seconds <= 0:
        raise PlanRefused(f"deadline: found {text!r}; allowed: a time such as 90s, 30m, 2h or 1d")
    return seconds


def read_quantization(text: str | None) -> Quantization | None:
    for known in QUANTIZATIONS:
        if text == known:
            return known
    if text is None:
        return None
    raise PlanRefused(f"quantization: found {text!r}; allowed: {', '.join(QUANTIZATIONS)}")
