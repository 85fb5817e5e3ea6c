"""How long an idle cluster waits for the next job: the rules that need no history.

Waiting costs the seconds waited. Stopping costs a restart: teardown now, a cold start later.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from jobs.policy.costs import CostModel

if TYPE_CHECKING:
    from jobs.policy.history import History


@dataclass(frozen=True, slots=True)
class Decision:
    """Seconds to wait, and why, in words."""

    window_s: float
    reason: str


class IdleRule(Protocol):
    """Decides once, each time there is nothing left to do."""

    @property
    def name(self) -> str: ...

    def window_s(self, now: float, history: "History", age_s: float = 0.0) -> Decision:
        """How long to wait from `now`; `age_s`: since the node was launched."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """Always the same window; infinite is always on."""

    seconds: float

    @property
    def name(self) -> str:
        return "always on" if math.isinf(self.seconds) else f"fixed {self.seconds:g} s"

    def window_s(self, now: float, history: "History", age_s: float = 0.0) -> Decision:
        return Decision(self.seconds, "set by hand")


@dataclass(frozen=True, slots=True)
class BreakEven:
    """Waits as long as it costs what a restart costs: never dearer than twice the best.

    A minimum is free time, of this node and of the next; to count it into the restart as well
    would cost up to three times the best (docs/policy.md).
    """

    costs: CostModel

    @property
    def name(self) -> str:
        return "break-even"

    def window_s(self, now: float, history: "History", age_s: float = 0.0) -> Decision:
        costs = self.costs
        free = window_for(costs, age_s, 0.0)
        told = f"break-even: a restart costs {costs.restart_s:.0f} s of node time"
        if free >= 1.0:
            told += f", and {free:.0f} s are billed in any case"
        return Decision(window_for(costs, age_s, costs.restart_s), told)


def window_for(costs: CostModel, age_s: float, budget_s: float) -> float:
    """The longest wait, from a node's `age_s` on, that is billed with at most `budget_s` seconds.

    Up to the end of what the meter shows already, waiting is free; the budget is rounded up to
    whole steps.
    """
    step = costs.granularity_s
    paid = costs.billed_s(age_s + costs.teardown_s)
    most = paid + math.ceil(round(budget_s, 3) / step) * step
    return max(paid, most // step * step) - costs.teardown_s - age_s
