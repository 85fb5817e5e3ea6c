"""The limits of one running job: its budget in money and time, and how many rows may fail."""

from dataclasses import dataclass
from decimal import Decimal

from jobs.manifest import Budget, OnError
from jobs.record import Counts
from jobs.states import State

ENOUGH_ROWS = 20  # an error rate of fewer rows says little


@dataclass(frozen=True, slots=True)
class Limits:
    budget: Budget
    on_error: OnError
    started_at: float

    def exceeded(
        self, counts: Counts, cost_usd: Decimal | None, now: float
    ) -> tuple[State, str] | None:
        """The state and reason to stop with, or None; a cost that is unknown stops nothing."""
        most = self.budget.max_usd
        if most is not None and cost_usd is not None and cost_usd > most:
            return State.OVER_BUDGET, f"cost {cost_usd:f} USD, budget.max_usd is {most:f}"
        longest = self.budget.max_runtime_s
        if longest is not None and now - self.started_at > longest:
            return State.OVER_BUDGET, f"ran longer than budget.max_runtime_s, {longest} s"
        return self._hopeless(counts)

    def _hopeless(self, counts: Counts) -> tuple[State, str] | None:
        rate = self.on_error.max_error_rate
        enough = counts.done >= min(ENOUGH_ROWS, counts.total)
        if rate is None or not enough or counts.errors <= rate * counts.done:
            return None
        return State.FAILED, (
            f"{counts.errors} of {counts.done} rows failed, on_error.max_error_rate is {rate:g}"
        )
