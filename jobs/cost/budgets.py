"""Judge budgets: what was spent in a period, what must be kept back, and whether work goes on.

Pure: amounts and moments in, a verdict out. A bound is kept by looking ahead. What ending the
cluster will cost is taken off it at all times, and so is one shard for each replica, which lets
what is in flight be finished: a job that comes so close gets no further shard. Past the bound it
is stopped at once, so that it is exceeded by no more than what passes between two looks.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import IntEnum
from typing import Literal

from jobs.cost.entry import Entry
from jobs.money import exact
from jobs.record import Record

Per = Literal["month", "day", "hour"]
ZERO = Decimal(0)
DRAIN_S = 10.0  # a cluster that is told to go takes a few seconds; see the measurements in README


class Verdict(IntEnum):
    """In the order of severity."""

    GO_ON = 0
    WIND_DOWN = 1  # finish what is in flight, begin nothing
    STOP = 2


@dataclass(frozen=True, slots=True)
class Reserve:
    """What must be kept back of a budget, in USD: a shard a replica, and the cluster's end."""

    in_flight: Decimal = ZERO
    teardown: Decimal = ZERO


@dataclass(frozen=True, slots=True)
class Purse:
    """A bound, and what was spent of it.

    name   as it is told: `budget.max_usd`, `line=4 per month`
    own    by the job in hand, on the cluster that it has now
    spent  by all else
    """

    name: str
    usd: Decimal
    own: Decimal = ZERO
    spent: Decimal = ZERO
    hard: bool = True

    @property
    def used_up(self) -> bool:
        return self.spent + self.own >= self.usd


@dataclass(frozen=True, slots=True)
class Judgement:
    verdict: Verdict
    reason: str = ""


def judge(purses: Iterable[Purse], reserve: Reserve) -> Judgement:
    """The severest verdict of the hard purses on the job in hand."""
    worst = Judgement(Verdict.GO_ON)
    for purse in purses:
        spent, kept = purse.spent + purse.own, reserve.teardown
        verdict = Verdict.STOP if spent + kept >= purse.usd else Verdict.GO_ON
        if verdict is Verdict.GO_ON and spent + kept + reserve.in_flight >= purse.usd:
            verdict, kept = Verdict.WIND_DOWN, kept + reserve.in_flight
        if purse.hard and verdict > worst.verdict:
            worst = Judgement(verdict, _reason(purse, kept))
    return worst


def _reason(purse: Purse, kept: Decimal) -> str:
    others = f" beside {purse.spent:.6f} of others" if purse.spent else ""
    return (
        f"cost {purse.own:.6f} USD{others}, {purse.name} is {purse.usd:f}; "
        f"{kept:.6f} were kept to finish"
    )


def reserve(
    usd_per_hour: Decimal | None,
    nodes: int,
    shard_s: float,
    idle_s: float,
    drain_s: float = DRAIN_S,
) -> Reserve:
    """What `nodes` nodes cost for one more shard, and until they are gone; 0 without a price."""
    each = ZERO if usd_per_hour is None else usd_per_hour * nodes / 3600
    return Reserve(each * exact(shard_s), each * exact(idle_s + drain_s))


def period(per: Per, now: float) -> tuple[float, float]:
    """The begin and end, in UTC, of the period that `now` lies in."""
    begin = datetime.fromtimestamp(now, UTC).replace(minute=0, second=0, microsecond=0)
    if per == "hour":
        return begin.timestamp(), (begin + timedelta(hours=1)).timestamp()
    begin = begin.replace(hour=0)
    if per == "day":
        return begin.timestamp(), (begin + timedelta(days=1)).timestamp()
    begin = begin.replace(day=1)
    return begin.timestamp(), (begin + timedelta(days=32)).replace(day=1).timestamp()


@dataclass(frozen=True, slots=True)
class Spending:
    """An amount over a time, and whose it was."""

    job_id: str | None
    labels: dict[str, str]
    since: float
    until: float
    usd: Decimal

    def within(self, begin: float, end: float) -> Decimal:
        """The part between two moments, by time: what is long is not all spent where it ended."""
        overlap = min(self.until, end) - max(self.since, begin)
        if overlap < 0:
            return ZERO
        length = self.until - self.since
        return self.usd if length <= 0 else self.usd * exact(overlap) / exact(length)


def of_entry(entry: Entry) -> Spending | None:
    """None: its price is unknown, and so is what it spent."""
    if entry.amount is None:
        return None
    return Spending(entry.job_id, entry.labels, entry.since, entry.until, entry.amount)


def of_running(record: Record, now: float) -> Spending | None:
    """What a job has cost so far; None when it has no cluster, or its price is unknown."""
    began = record.entered.get("provisioning")
    if record.state.ended or not record.owner or record.cost_usd is None or began is None:
        return None
    return Spending(record.job_id, record.labels, min(began, now), now, record.cost_usd)
