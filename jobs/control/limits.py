"""The limits of one running job: how long it may run, and how many rows may fail.

What it may cost is judged in `jobs.control.budget_watch`.
"""

from dataclasses import dataclass
from decimal import Decimal

from jobs.manifest.manifest import Budget, OnError
from jobs.record import Counts
from jobs.states import State

ENOUGH_ROWS = 20  # an error rate of fewer rows says little


@dataclass(frozen=True, slots=True)
class Limits:
    """`max_usd` is what the job may cost, for `jobs.control.budget_watch`; None: any amount."""

    budget: Budget
    on_error: OnError
    started_at: float
    max_usd: Decimal | None = None

    def exceeded(self, counts: Counts, now: float) -> tuple[State, str] | None:
        """The state and reason to stop with, or None."""
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
