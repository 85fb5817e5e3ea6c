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
    """A bound, and what others than the job in hand have spent of it already.

    name   as it is told: `budget.max_usd`, `line=4 per month`
    """

    name: str
    usd: Decimal
    spent: Decimal = ZERO
    hard: bool = True


@dataclass(frozen=True, slots=True)
class Judgement:
    verdict: Verdict
    reason: str = ""


def judge(purses: Iterable[Purse], cost_usd: Decimal, reserve: Reserve) -> Judgement:
    """The severest verdict of all hard purses on a job that has cost `cost_usd` so far."""
    worst = Judgement(Verdict.GO_ON)
    for purse in purses:
        spent = purse.spent + cost_usd
        if spent + reserve.teardown >= purse.usd:
            found = Judgement(Verdict.STOP, _reason(purse, cost_usd, reserve.teardown))
        elif spent + reserve.teardown + reserve.in_flight >= purse.usd:
            kept = reserve.teardown + reserve.in_flight
            found = Judgement(Verdict.WIND_DOWN, _reason(purse, cost_usd, kept))
        else:
            continue
        if purse.hard and found.verdict > worst.verdict:
            worst = found
    return worst


def used_up(purses: Iterable[Purse], cost_usd: Decimal = ZERO) -> list[Purse]:
    """The purses, soft ones too, of which nothing is left."""
    return [each for each in purses if each.spent + cost_usd >= each.usd]


def _reason(purse: Purse, cost_usd: Decimal, kept: Decimal) -> str:
    others = f" beside {purse.spent:.6f} of others" if purse.spent else ""
    return (
        f"cost {cost_usd:.6f} USD{others}, {purse.name} is {purse.usd:f}; "
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
    return Reserve(each * _exact(shard_s), each * _exact(idle_s + drain_s))


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
    """An amount over a time, whoever spent it."""

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
        return self.usd if length <= 0 else self.usd * _exact(overlap) / _exact(length)


def of_entry(entry: Entry) -> Spending | None:
    """None: its price is unknown, and so is what it spent."""
    if entry.amount is None:
        return None
    return Spending(entry.labels, entry.since, entry.until, entry.amount)


def of_running(record: Record, now: float) -> Spending | None:
    """What a job has cost on the cluster that it has now; None when it has none, or no price."""
    began = record.entered.get("provisioning")
    if record.state.ended or not record.owner or record.cost_usd is None or began is None:
        return None
    return Spending(record.labels, min(began, now), now, record.cost_usd)


def _exact(seconds: float) -> Decimal:
    return Decimal(repr(round(seconds, 3)))
