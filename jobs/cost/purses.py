"""The budgets of the settings as purses: what the ledger and the running jobs have spent of them.

What was read is remembered, so that a later look reads only what is new: after the first, the
entries of today and yesterday, and once an hour those of the whole period.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, timedelta
from decimal import Decimal

from jobs.addresses import Address, JobPaths
from jobs.cost.budgets import ZERO, Purse, Spending, of_entry, of_running, period
from jobs.cost.ledger import day_of, day_root, read_at
from jobs.errors import NotFound
from jobs.queue import queued
from jobs.record import RecordFile
from jobs.settings.budgets import Budget
from jobs.store.bucket import Store

LOOK_S = 30.0
WHOLE_LOOK_S = 3600.0
DAY = timedelta(days=1)


class Purses:
    """What is left of `budgets`; `of` may be asked at any rate."""

    def __init__(
        self,
        store: Store,
        bucket: str,
        budgets: Sequence[Budget],
        clock: Callable[[], float],
        look_s: float = LOOK_S,
    ) -> None:
        self._store, self._bucket, self._clock = store, bucket, clock
        self._budgets, self._look_s = tuple(budgets), look_s
        self._seen: set[Address] = set()
        self._spent: list[Spending] = []
        self._running: list[Spending] = []
        self._next = self._next_whole = 0.0

    def of(
        self, labels: Mapping[str, str], own: Spending | None = None
    ) -> list[tuple[Budget, Purse]]:
        """The purses that a job with these labels is paid from.

        own   what the job in hand has cost on the cluster that it has now, which the ledger does
              not have yet
        """
        return self._now([each for each in self._budgets if each.covers(dict(labels))], own)

    def all(self) -> list[tuple[Budget, Purse]]:
        """Every purse, as it stands for a job that is none of those that run."""
        return self._now(self._budgets, None)

    def _now(self, budgets: Sequence[Budget], own: Spending | None) -> list[tuple[Budget, Purse]]:
        if not budgets:
            return []
        self._look()
        return [(budget, self._purse(budget, own)) for budget in budgets]

    def _purse(self, budget: Budget, own: Spending | None) -> Purse:
        begin, end = period(budget.per, self._clock())
        job = own.job_id if own is not None else ""
        all_else = [*self._spent, *(each for each in self._running if each.job_id != job)]
        covered = (each for each in all_else if budget.covers(each.labels))
        return Purse(
            name=budget.name,
            usd=budget.usd,
            own=own.within(begin, end) if own is not None else ZERO,
            spent=sum((each.within(begin, end) for each in covered), ZERO),
            hard=budget.kind == "hard",
        )

    def _look(self) -> None:
        now = self._clock()
        if now < self._next:
            return
        today = day_of(now)
        first = min(day_of(period(each.per, now)[0]) for each in self._budgets)
        begin = first if now >= self._next_whole else max(first, today - DAY)
        if begin == first:
            self._next_whole = now + WHOLE_LOOK_S
        self._forget(first)
        self._read(begin, today)
        self._running = list(self._now_running(now))
        self._next = now + self._look_s

    def _read(self, first: date, last: date) -> None:
        new: list[Address] = []
        for number in range((last - first).days + 1):
            root = day_root(self._bucket, first + number * DAY)
            new += (each.address for each in self._store.list(root))
        new = [each for each in new if each not in self._seen]
        for entry in read_at(self._store, new):
            spending = of_entry(entry)
            if spending and any(each.covers(spending.labels) for each in self._budgets):
                self._spent.append(spending)
        self._seen.update(new)

    def _forget(self, first: date) -> None:
        """What ended before every period."""
        self._spent = [each for each in self._spent if day_of(each.until) >= first]

    def _now_running(self, now: float) -> Iterator[Spending]:
        """What running jobs have cost beyond what the ledger has of them."""
        booked: dict[str | None, Decimal] = {}
        for each in self._spent:
            booked[each.job_id] = booked.get(each.job_id, ZERO) + each.usd
        for job_id in queued(self._store, self._bucket):
            with suppress(NotFound):  # queued a moment ago
                record = RecordFile(self._store, JobPaths.of(self._bucket, job_id)).load()
                found = of_running(record, now)
                if found is not None:
                    left = max(ZERO, found.usd - booked.get(job_id, ZERO))
                    yield Spending(job_id, found.labels, found.since, found.until, left)
