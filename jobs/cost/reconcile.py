"""Hold a provider's invoice against the ledger: for each node and day, do both say the same?

Both are cut at midnight UTC by time, so that it does not matter how long the lines of either are.
What is on the invoice and not in the ledger ran without our knowing: that is an alarm.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Literal

from jobs.cost.entry import Entry
from jobs.cost.invoice import Line

TOLERANCE = Decimal("0.01")  # what an invoice rounds to
PART = Decimal("0.000000000000001")  # so coarse that sums of parts are exact
Outcome = Literal["matched", "missing_in_ledger", "missing_in_invoice", "differs"]
Key = tuple[str, date]


@dataclass(slots=True)
class _Side:
    """One side's amount for a node and day; `known` is False when a price is unknown."""

    amount: Decimal = Decimal(0)
    currencies: set[str] = field(default_factory=set)
    known: bool = True


@dataclass(frozen=True, slots=True)
class Verdict:
    """One node on one day; an amount is None where that side has none or does not know it."""

    node_id: str
    day: date
    outcome: Outcome
    ours: Decimal | None
    theirs: Decimal | None
    currency: str
    why: str = ""


@dataclass(slots=True)
class Reconciliation:
    """Add both sides, in any order, then ask; keeps one sum for each node and day."""

    tolerance: Decimal = TOLERANCE
    _ours: dict[Key, _Side] = field(default_factory=dict)
    _theirs: dict[Key, _Side] = field(default_factory=dict)
    first: float | None = None
    last: float | None = None

    def add_invoice(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self.first = min(line.start, line.start if self.first is None else self.first)
            self.last = max(line.end, line.end if self.last is None else self.last)
            for day, part in by_day(line.start, line.end):
                side = self._theirs.setdefault((line.resource_id, day), _Side())
                side.amount += line.amount * part
                side.currencies.add(line.currency)

    def add_ledger(self, entries: Iterable[Entry]) -> None:
        """Node time alone: an invoice's other lines have no counterpart of ours by resource."""
        for entry in entries:
            if entry.node is None:
                continue
            for day, part in by_day(entry.since, entry.until):
                side = self._ours.setdefault((entry.node.node_id, day), _Side())
                side.currencies.add(entry.offer.currency)
                if entry.amount is None:
                    side.known = False
                else:
                    side.amount += entry.amount * part

    def verdicts(self, days: tuple[date, date] | None = None) -> Iterator[Verdict]:
        """By node and day; with `days`, only from the first to the last of them."""
        for key in sorted({*self._ours, *self._theirs}):
            if days is None or days[0] <= key[1] <= days[1]:
                yield self._judge(key, self._ours.get(key), self._theirs.get(key))

    def _judge(self, key: Key, ours: _Side | None, theirs: _Side | None) -> Verdict:
        currencies = (ours.currencies if ours else set()) | (theirs.currencies if theirs else set())
        mine = ours.amount if ours and ours.known else None
        outcome, why = self._outcome(ours, theirs, currencies)
        yours = theirs.amount if theirs else None
        return Verdict(*key, outcome, mine, yours, "/".join(sorted(currencies)), why)

    def _outcome(
        self, ours: _Side | None, theirs: _Side | None, currencies: set[str]
    ) -> tuple[Outcome, str]:
        if ours is None:
            return "missing_in_ledger", "it ran, and we did not know of it"
        if theirs is None:
            if ours.known and ours.amount == 0:
                return "matched", ""
            return "missing_in_invoice", "the invoice does not have it"
        if len(currencies) > 1:
            return "differs", "another currency"
        if not ours.known:
            return "differs", "its price is unknown to the ledger"
        if abs(ours.amount - theirs.amount) > self.tolerance:
            return "differs", f"by {abs(ours.amount - theirs.amount):.6f}"
        return "matched", ""


def by_day(start: float, end: float) -> Iterator[tuple[date, Decimal]]:
    """The days between two moments, in UTC, each with its part of the time; the parts sum to 1."""
    first = datetime.fromtimestamp(start, UTC)
    day, left = first.date(), Decimal(1)
    length = Decimal(repr(end)) - Decimal(repr(start))
    while True:
        midnight = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)
        if end <= midnight.timestamp():
            yield day, left
            return
        begun = max(start, midnight.timestamp() - 86400)
        part = (Decimal(repr(midnight.timestamp())) - Decimal(repr(begun))) / length
        part = part.quantize(PART)
        yield day, part
        left -= part
        day += timedelta(days=1)
