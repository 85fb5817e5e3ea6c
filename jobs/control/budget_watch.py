"""Hold a running job to its budgets: its own, and those of the settings that it is paid from."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from infra.clusters.base import NodeInterval
from jobs.control.budget_news import BudgetNews
from jobs.cost.budgets import Judgement, Purse, Spending, Verdict, judge, reserve
from jobs.cost.purses import Purses
from jobs.order import Marker
from jobs.policy.expected import expected_window_s
from jobs.record import OfferSnapshot, Record
from jobs.settings.settings import Settings
from jobs.store.bucket import Store


@dataclass(frozen=True, slots=True)
class Seen:
    """What a job has cost, and is about to.

    usd       of all its claims; `before_usd` of the earlier ones, which the ledger has
    since     from when node time is this claim's
    nodes     that live now
    shard_s   seconds that a shard takes
    """

    record: Record
    usd: Decimal
    before_usd: Decimal
    since: float
    offer: OfferSnapshot
    nodes: int
    shard_s: float


class BudgetKeeper:
    """What a controller keeps of budgets from job to job."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        clock: Callable[[], float] = time.time,
        news: BudgetNews | None = None,
    ) -> None:
        self._clock, self._idle_s = clock, expected_window_s(settings)
        self._purses = Purses(store, settings.bucket, settings.budgets, clock)
        self._news = news or BudgetNews(store, settings.bucket, clock)

    def empty(self, record: Record, max_usd: Decimal | None) -> str | None:
        """Which budget of the job nothing is left of, in words; None: each has something."""
        if max_usd is not None and record.cost_usd is not None and record.cost_usd >= max_usd:
            return f"cost {record.cost_usd:.6f} USD, budget.max_usd is {max_usd:f}"
        for _, purse in self._purses.of(record.labels):
            if purse.hard and purse.used_up:
                return f"{purse.spent:.6f} of {purse.usd:f} USD are spent, {purse.name}"
        return None

    def judge(self, seen: Seen, max_usd: Decimal | None) -> Judgement:
        """The verdict of all budgets on the job; whoever is to be told of one is told."""
        record, now = seen.record, self._clock()
        kept = reserve(seen.offer.rate, seen.nodes, seen.shard_s, self._idle_s)
        own = Spending(record.job_id, record.labels, seen.since, now, seen.usd - seen.before_usd)
        found = self._purses.of(record.labels, own)
        for budget, purse in found:
            if purse.used_up:
                self._news.used_up(budget, purse)
            alone = judge([purse], kept)
            if alone.verdict is not Verdict.GO_ON:
                self._news.stopping(budget, purse, record.job_id, record.epoch, alone.reason)
        of_job = [] if max_usd is None else [Purse("budget.max_usd", max_usd, own=seen.usd)]
        return judge([*of_job, *(purse for _, purse in found)], kept)


def shard_seconds(markers: Iterable[Marker], ready_at: float | None, now: float) -> float:
    """What a shard takes, by those that were committed; before the first, what it took so far."""
    took = [each.ended_at - each.started_at for each in markers]
    if took:
        return max(0.0, sum(took) / len(took))
    return 0.0 if ready_at is None else max(0.0, now - ready_at)


def living(nodes: Sequence[NodeInterval]) -> int:
    return sum(node.gone_at is None for node in nodes)
