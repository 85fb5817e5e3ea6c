"""The least that a trace can cost when the future is known.

It is the optimum of this problem, and of no other: one cluster of one node, jobs first come first
served one at a time, a cluster launched by the arrival that finds none and at that moment, nothing
held for batching. The only choice is, each time there is nothing left to do, how long to wait.
Knowing the next arrival, that is: until it comes, or not at all.

A job that is delayed by a cold start ends later, so a choice changes the gaps after it; the least
is therefore taken over whole lives, from launch to end, and not gap by gap. To stop in a gap that
is no longer than a teardown never pays: whatever the meter, the node would have run less. So a
launch is always at an arrival, and the least cost from an arrival on depends on nothing before it.
Nor does it pay to wait for longer than a restart and what two meters can round up: so lives end.
"""

import math
from collections.abc import Iterator, Sequence

from jobs.policy.arrivals import Arrival
from jobs.policy.costs import CostModel
from jobs.policy.history import History
from jobs.policy.idle import Decision


def optimum_s(arrivals: Sequence[Arrival], costs: CostModel) -> float:
    """The least billed seconds."""
    return _best(arrivals, costs)[0]


def clairvoyant(arrivals: Sequence[Arrival], costs: CostModel) -> "Known":
    """The rule that reaches the optimum in a replay of this very trace."""
    _, stops = _best(arrivals, costs)
    launched, ends = 0, set[float]()
    while launched < len(arrivals):
        after = stops[launched]
        ends |= {round(end, 3) for until, end in _ends(arrivals, launched, costs) if until == after}
        launched = after
    return Known(frozenset(ends))


class Known:
    """Stops at the moments it was told, and waits at all others."""

    name = "clairvoyant"

    def __init__(self, ends: frozenset[float]) -> None:
        self._ends = ends

    def window_s(self, now: float, history: History, age_s: float = 0.0) -> Decision:
        return Decision(
            0.0 if round(now, 3) in self._ends else math.inf, "the next arrival is known"
        )


def _best(arrivals: Sequence[Arrival], costs: CostModel) -> tuple[float, list[int]]:
    """The least from the first arrival on; for each launch, the arrival before which it stops."""
    count = len(arrivals)
    least, stops = [math.inf] * count + [0.0], [count] * count
    for first in range(count - 1, -1, -1):
        launched = arrivals[first].at_s
        for after, end in _ends(arrivals, first, costs):
            bill = costs.billed_s(end + costs.teardown_s - launched)
            if bill >= least[first]:
                break  # a longer life is no cheaper, and what follows costs no less than nothing
            if bill + least[after] < least[first]:
                least[first], stops[first] = bill + least[after], after
    return least[0], stops


def _ends(arrivals: Sequence[Arrival], first: int, costs: CostModel) -> Iterator[tuple[int, float]]:
    """A cluster launched for `first` that always waits: before which arrivals there is nothing to
    do for longer than a teardown, and from when."""
    free = arrivals[first].at_s + costs.start_s
    for at in range(first, len(arrivals)):
        free = max(free, arrivals[at].at_s) + arrivals[at].work_s
        gap = arrivals[at + 1].at_s - free if at + 1 < len(arrivals) else math.inf
        if gap > costs.teardown_s:
            yield at + 1, free
        if gap >= costs.restart_s + 2 * (costs.granularity_s + costs.minimum_s):
            return
