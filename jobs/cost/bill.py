"""Account: node intervals become a bill to the second, whose parts sum to the total exactly.

A node is billed from its launch to its end, in the offer's steps. Each billed second is startup
(until the engine answers), work, or idle (after the last row, teardown included). The same rounded
meter is read at every cut, so phases sum to the job and jobs that share a node sum to the node.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from itertools import pairwise

from infra.catalogue.billing import metered_s
from infra.clusters.base import NodeInterval
from jobs.record import OfferSnapshot

PHASES = ("startup", "work", "idle")
QUANTUM = Decimal("0.000000001")  # of a USD; amounts are rounded once more when they are shown
MILLISECOND = Decimal("0.001")
HOUR_S = Decimal(3600)


@dataclass(frozen=True, slots=True)
class Span:
    """One job's time on a cluster, in seconds since the epoch.

    since      from when node time is this job's: the cluster's start, or the claim on a warm one
    ready_at   when the engine answered; None: never
    done_at    when the last row was written; None: still at it
    until      up to when node time is this job's
    """

    since: float
    ready_at: float | None
    done_at: float | None
    until: float


@dataclass(frozen=True, slots=True)
class Bill:
    """Billed seconds and USD, in all and by phase; `raw_s` is what the nodes really ran.

    ran   the same by phase, before any meter: what a meter rounds up tells nothing of speed
    """

    usd: Decimal
    billed_s: Decimal
    raw_s: Decimal
    seconds: Mapping[str, Decimal]
    costs: Mapping[str, Decimal]
    nodes: int
    ran: Mapping[str, Decimal]


def make_bill(nodes: Sequence[NodeInterval], span: Span, offer: OfferSnapshot) -> Bill:
    """The bill of one job for its share of `nodes`; a node that still runs counts to `until`."""
    seconds, ran = dict.fromkeys(PHASES, Decimal(0)), dict.fromkeys(PHASES, Decimal(0))
    used = 0
    for node in nodes:
        cuts = _cuts(node, span)
        if cuts[0] == cuts[-1]:
            continue
        used += 1
        _add(ran, cuts)
        _add(seconds, [_meter(cut, offer) for cut in cuts])
    billed = sum(seconds.values(), Decimal(0))
    usd = _usd(billed, offer, ROUND_HALF_EVEN)
    costs = {phase: _usd(seconds[phase], offer, ROUND_FLOOR) for phase in ("startup", "work")}
    # The rest, so that the parts sum to the total and what rows were charged never changes again.
    costs["idle"] = usd - costs["startup"] - costs["work"]
    raw = sum(ran.values(), Decimal(0))
    return Bill(usd, billed, raw, seconds, costs, used, ran)


def _add(phases: dict[str, Decimal], readings: Sequence[Decimal]) -> None:
    for phase, (before, after) in zip(PHASES, pairwise(readings), strict=True):
        phases[phase] += after - before


def _cuts(node: NodeInterval, span: Span) -> list[Decimal]:
    """Start, engine ready, last row and end of the job on the node: seconds after its launch."""
    start = max(node.launched_at, span.since)
    end = max(start, min(node.gone_at or span.until, span.until))
    ready = _within(start, end, span.ready_at)
    done = _within(ready, end, span.done_at)
    return [_exact(moment - node.launched_at) for moment in (start, ready, done, end)]


def _within(start: float, end: float, moment: float | None) -> float:
    return end if moment is None else min(end, max(start, moment))


def _exact(seconds: float) -> Decimal:
    return Decimal(repr(seconds)).quantize(MILLISECOND)


def _meter(seconds: Decimal, offer: OfferSnapshot) -> Decimal:
    """What the provider's meter shows this long after a node's launch."""
    if seconds <= 0:
        return Decimal(0)
    return metered_s(seconds, offer.billing_granularity_s, offer.minimum_s)


def _usd(seconds: Decimal, offer: OfferSnapshot, rounding: str) -> Decimal:
    assert offer.rate is not None
    return (seconds * offer.rate / HOUR_S).quantize(QUANTUM, rounding)


def share(amount: Decimal, weights: Sequence[Decimal]) -> list[Decimal]:
    """Cut `amount`, a multiple of the quantum, by `weights`; the parts sum to it exactly.

    Largest remainder: what rounding down leaves goes, a quantum each, to the largest fractions;
    with no weight at all the parts are equal.
    """
    if not weights:
        return []
    total = sum(weights, Decimal(0))
    even = [Decimal(1)] * len(weights)
    used, total = (weights, total) if total > 0 else (even, Decimal(len(weights)))
    exact = [amount * weight / total for weight in used]
    parts = [value.quantize(QUANTUM, ROUND_FLOOR) for value in exact]
    left = int((amount - sum(parts, Decimal(0))) / QUANTUM)
    order = sorted(range(len(parts)), key=lambda i: (parts[i] - exact[i], i))
    for index in order[:left]:
        parts[index] += QUANTUM
    return parts
