"""The budgets of the settings, with what is spent of each in the period that is now."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from fastapi import Request

from jobs.api.context import Context
from jobs.cost.budgets import Purse
from jobs.cost.purses import Purses
from jobs.settings.budgets import Budget


@dataclass(frozen=True, slots=True)
class Spent:
    """A budget and its purse."""

    budget: Budget
    purse: Purse

    @property
    def usd(self) -> Decimal:
        return self.purse.spent + self.purse.own

    @property
    def percent(self) -> int:
        """Of the budget, at most 100."""
        return min(100, int(100 * self.usd / self.budget.usd))


class Budgets:
    """Reads each entry once for all who look; safe to share between threads."""

    def __init__(self, context: Context) -> None:
        self._lock = threading.Lock()
        budgets = context.settings.budgets
        self._purses = Purses(context.store, context.bucket, budgets, time.time)

    def now(self) -> Sequence[Spent]:
        with self._lock:
            return [Spent(budget, purse) for budget, purse in self._purses.all()]


def budgets_of(request: Request, context: Context) -> Budgets:
    state = request.app.state
    if not hasattr(state, "budgets"):
        state.budgets = Budgets(context)
    found: Budgets = state.budgets
    return found
