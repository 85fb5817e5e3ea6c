"""The rule that learns when jobs come: the window that would have been cheapest, on a leash.

Cheapest for the arrivals there were, those of late and of the same time of day counting most, and
with a start in favour of break-even: so little history is break-even. The leash is an account of
what our windows cost. While that is above 1.1 times what break-even would have cost and two
restarts, break-even decides; so no stream of jobs can make learning dear (docs/policy.md).
"""

from dataclasses import dataclass

from jobs.plurals import counted
from jobs.policy.costs import CostModel
from jobs.policy.history import History
from jobs.policy.idle import BreakEven, Decision, window_for

LEAST_JOBS = 5
PRIOR = 2.0  # gaps of the worst kind that are believed in beside those seen
OVER, ALLOWANCE = 0.1, 2.0  # the leash: a share of break-even's cost, and restarts


@dataclass(frozen=True, slots=True)
class Learned:
    """Break-even until it knows better; never much dearer than that."""

    costs: CostModel

    @property
    def name(self) -> str:
        return "learned"

    def window_s(self, now: float, history: History, age_s: float = 0.0) -> Decision:
        even = BreakEven(self.costs).window_s(now, history, age_s)
        if history.jobs < LEAST_JOBS:
            few = counted(history.jobs, "job tells", "jobs tell")
            return Decision(even.window_s, f"{even.reason}; {few} too little")
        if slack_s(history) < 0:
            return Decision(even.window_s, f"{even.reason}; what was learned has cost more")
        restart, scores = self.costs.restart_s, history.scores(now)
        costs = {each: cost + PRIOR * abs(each - restart) for each, cost in scores.items()}
        best = min(costs, key=lambda each: (costs[each], each))
        if best == restart:
            return Decision(even.window_s, f"{even.reason}; {history.jobs} jobs tell no better")
        saved = 1 - scores[best] / scores[restart]
        told = (
            f"learned from {history.jobs} jobs: to pay up to {best:.0f} s of waiting would have "
            f"cost {saved:.0%} less beside work, at this time of day, than break-even's "
            f"{restart:.0f} s"
        )
        return Decision(window_for(self.costs, age_s, best), told)


def slack_s(history: History) -> float:
    """By how much our account is below its limit, in node-seconds."""
    limit = (1 + OVER) * history.even_s + ALLOWANCE * history.costs.restart_s
    return limit - history.ours.paid_s
