"""Spot or on demand, big node or small, one now or two later: the cheapest that ends in time.

A way costs what its nodes are billed for, with what preemptions are expected to add: each redoes a
start and half a shard. It ends in time if it does so with as many preemptions as are likely to
come, and at the slow end of its range.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from infra.catalogue.offers import Offer
from infra.planner.duration import Duration
from infra.planner.money import billed_s, hourly_price
from infra.planner.quote import Candidate
from jobs.policy.preemption import SURE, Seen, likely_most

HOUR_S = 3600.0
UNSEEN = Seen()


@dataclass(frozen=True, slots=True)
class Way:
    """One way to run the job: a quote, on spot capacity or not, now or later.

    later_s   seconds until its nodes can be had
    shard_s   seconds of one shard's work: half of it is lost at a preemption
    seen      preemptions of this capacity so far
    """

    name: str
    offer: Offer
    nodes: int
    duration: Duration
    spot: bool = False
    later_s: float = 0.0
    shard_s: float = 0.0
    seen: Seen = UNSEEN

    @classmethod
    def of(cls, candidate: Candidate, spot: bool = False, seen: Seen = UNSEEN) -> "Way":
        """The planner's candidate as a way that begins now; it must have offer and duration."""
        offer, took = candidate.offer, candidate.duration
        assert offer is not None, "a candidate that was quoted has an offer"
        assert took is not None, "and a duration"
        name = f"{candidate.nodes} x {offer.name} {'spot' if spot else 'on demand'}"
        return cls(name, offer, candidate.nodes, took, spot, seen=seen)

    @property
    def setback_s(self) -> float:
        """What one preemption adds to a node's time, expected."""
        return self.duration.start.expected + self.shard_s / 2

    def preemptions(self, work_s: float) -> float:
        """Expected over all nodes; those that come during a redone start are left out."""
        return self.seen.per_hour * self.nodes * work_s / HOUR_S if self.spot else 0.0


@dataclass(frozen=True, slots=True)
class Judged:
    """A way with its expected cost, its likely end, and why it was taken or not.

    usd     None: the price is unknown
    end_s   seconds from now; not exceeded with a probability of 95 %, at the slow end of the range
    """

    way: Way
    usd: Decimal | None
    end_s: float
    in_time: bool
    reason: str = ""


def choose(ways: Sequence[Way], deadline_s: float | None = None) -> tuple[Judged, ...]:
    """Every way with a reason, the choice first. Where none is in time, the soonest is first."""
    judged = [_judge(way, deadline_s) for way in ways]
    judged.sort(key=_rank)
    if not judged:
        return ()
    best = judged[0]
    return tuple(_reasoned(each, best, deadline_s) for each in judged)


def _judge(way: Way, deadline_s: float | None) -> Judged:
    took, price = way.duration, hourly_price(way.offer, way.spot, deadline_s is None)
    again_s = way.preemptions(took.node.expected) / way.nodes * way.setback_s
    seconds = billed_s(way.offer, way.nodes, took.node.expected + again_s)
    usd = None if price is None else price * seconds / Decimal(HOUR_S)
    # Nodes share the rest of the work, but each preemption is a start that somebody waits for.
    most = likely_most(way.preemptions(took.wall.high)) if way.spot else 0
    end_s = way.later_s + took.wall.high + most * way.setback_s
    return Judged(way, usd, end_s, deadline_s is None or end_s <= deadline_s)


def _rank(each: Judged) -> tuple[bool, Decimal, float]:
    """In time first; of those the cheapest, an unknown price last; of the late ones the soonest."""
    if not each.in_time:
        return (True, Decimal(0), each.end_s)
    return (False, Decimal("Infinity") if each.usd is None else each.usd, each.end_s)


def _reasoned(each: Judged, best: Judged, deadline_s: float | None) -> Judged:
    return Judged(each.way, each.usd, each.end_s, each.in_time, _why(each, best, deadline_s))


def _why(each: Judged, best: Judged, deadline_s: float | None) -> str:
    end = f"ends within {each.end_s:.0f} s"
    if each.way.spot:
        end += f" at {SURE:.0%} with {each.way.seen.per_hour:.3f} preemptions a node-hour"
    if not each.in_time:
        first = "the soonest, though " if each is best else ""
        return f"{first}too late: {end}, the deadline is {deadline_s:.0f} s"
    if each.usd is None:
        return f"price is unknown; {end}"
    if each is best:
        return f"the cheapest that is in time: {each.usd:.4f} USD expected; {end}"
    assert best.usd is not None, "an unknown price comes last"
    return f"dearer by {each.usd - best.usd:.4f} USD; {end}"
