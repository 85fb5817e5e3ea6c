"""Tell of budgets that are used up and of jobs that they stop: in the log, and by webhook.

Each event is told until somebody has taken it, from a thread of its own, so that an address that
does not answer holds up no job.
"""

import hashlib
import logging
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

from jobs.cost.budgets import Purse, period
from jobs.settings.budgets import Budget
from jobs.store.bucket import Store

log = logging.getLogger("zeroshift")
AGAIN_S = 60.0
Tell = Callable[[Budget, str, str, dict[str, Any]], bool]


class BudgetNews:
    """`told` events are told once in the log, and until they are taken by webhook."""

    def __init__(
        self,
        store: Store,
        bucket: str,
        clock: Callable[[], float] = time.time,
        environ: Mapping[str, str] | None = None,
        tell: Tell | None = None,
    ) -> None:
        self._store, self._bucket, self._clock = store, bucket, clock
        self._environ = os.environ if environ is None else environ
        self._tell = tell or self._post
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="budget-news")
        self._taken: set[str] = set()
        self._next: dict[str, float] = {}

    def used_up(self, budget: Budget, purse: Purse) -> None:
        """Nothing is left of a budget in this period."""
        self._news(budget, purse, "budget.used_up", {})

    def stopping(self, budget: Budget, purse: Purse, job_id: str, epoch: int, reason: str) -> None:
        """A hard budget stops a job."""
        more = {"job_id": job_id, "epoch": epoch, "reason": reason}
        self._news(budget, purse, "budget.job_stopped", more)

    def close(self) -> None:
        """Wait for what is being told."""
        self._thread.shutdown(wait=True)

    def _news(self, budget: Budget, purse: Purse, kind: str, more: dict[str, Any]) -> None:
        begin = period(budget.per, self._clock())[0]
        event = _event_id(budget, begin, kind, more)
        if event not in self._next:
            spent = purse.spent + purse.own
            log.warning("%s: %.6f of %s USD, %s", kind, spent, purse.usd, purse.name)
        due = self._clock() >= self._next.get(event, 0.0)
        if budget.webhook is None or event in self._taken or not due:
            self._next.setdefault(event, 0.0)
            return
        self._next[event] = self._clock() + AGAIN_S
        body = {
            "budget": purse.name,
            "usd": f"{purse.usd:f}",
            "spent_usd": f"{purse.spent + purse.own:f}",
            "kind": budget.kind,
            "period_start": f"{datetime.fromtimestamp(begin, UTC):%Y-%m-%dT%H:%M:%SZ}",
            **more,
        }
        self._thread.submit(self._send, budget, event, kind, body)

    def _send(self, budget: Budget, event: str, kind: str, body: dict[str, Any]) -> None:
        try:
            if self._tell(budget, event, kind, body):
                self._taken.add(event)
        except Exception as error:  # of a thread that nobody waits for
            log.warning("event %s could not be told: %s", event, type(error).__name__)

    def _post(self, budget: Budget, event: str, kind: str, body: dict[str, Any]) -> bool:
        import httpx  # a tenth of a second, for those who are told by webhook

        from jobs.telling.notify import Notifier, tell_once

        secret = self._environ.get(budget.secret_variable, "")
        if not secret or budget.webhook is None:
            log.warning("event %s is not told: %s is not set", event, budget.secret_variable)
            return False
        with httpx.Client(trust_env=False) as client:
            notifier = Notifier(budget.webhook, secret.encode(), client)
            return tell_once(self._store, self._bucket, notifier, event, kind, body)


def _event_id(budget: Budget, begin: float, kind: str, more: dict[str, Any]) -> str:
    which = f"{budget.label} {budget.per} {budget.kind} {budget.usd}"
    digest = hashlib.sha256(which.encode()).hexdigest()[:12]
    day = f"{datetime.fromtimestamp(begin, UTC):%Y%m%dT%H}"
    job = f"-{more['job_id']}-{more['epoch']}" if more else ""
    return f"{kind.replace('.', '-')}-{digest}-{day}{job}"
