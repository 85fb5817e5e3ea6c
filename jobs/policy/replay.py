"""Replay: what a rule would have cost on a trace.

Without a cluster an arrival launches one, as soon as the one before is gone; a cold start delays
what follows. When there is nothing left to do, the rule says how long to wait.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from jobs.policy.arrivals import Arrival
from jobs.policy.batching import launch_at
from jobs.policy.costs import CostModel
from jobs.policy.history import History, advance
from jobs.policy.idle import IdleRule
from jobs.policy.learned import Learned
from jobs.policy.node import Node


@dataclass(frozen=True, slots=True)
class Outcome:
    """Billed seconds by class, cold starts, and how long jobs waited until they were begun."""

    policy: str
    seconds: dict[str, float]
    starts: int
    waits_s: tuple[float, ...]
    costs: CostModel

    @property
    def billed_s(self) -> float:
        return sum(self.seconds.values())

    @property
    def usd(self) -> dict[str, Decimal]:
        return {name: self.costs.usd(seconds) for name, seconds in self.seconds.items()}

    @property
    def total_usd(self) -> Decimal:
        return self.costs.usd(self.billed_s)

    @property
    def mean_wait_s(self) -> float:
        return sum(self.waits_s) / len(self.waits_s)


def replay(
    arrivals: Sequence[Arrival], rule: IdleRule, costs: CostModel, horizon_s: float = 0.0
) -> Outcome:
    """`arrivals` under `rule`; a cluster that is always on is counted to the horizon."""
    node, history, learns = Node(costs), History(costs), isinstance(rule, Learned)
    for number, job in enumerate(arrivals):
        if node.up and job.at_s > node.free_at:
            window = rule.window_s(node.free_at, history, node.age_s).window_s
            history.decided(window)
            advance(node, job.at_s, window)
        node.work(job.at_s, job.work_s, launch_at(arrivals, number))
        if learns:
            history.arrived(job.at_s, job.work_s)
    if node.up:
        last = rule.window_s(node.free_at, history, node.age_s).window_s
        node.stop(max(0.0, horizon_s - node.free_at) if math.isinf(last) else last)
    return Outcome(rule.name, node.seconds, node.starts, tuple(node.waits_s), costs)
