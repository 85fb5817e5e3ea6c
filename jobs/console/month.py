"""A month of the ledger, added up by day, job, label, model and class: for a page.

An amount that nobody knows is in no sum, and is counted: a group with nothing but such amounts
costs "unknown", which is not 0.
"""

import calendar
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

from markupsafe import Markup

from jobs.cost.entry import CLASSES
from jobs.cost.ledger import entries
from jobs.cost.report import NOBODY, Report, Sums, keys_of
from jobs.report.charts import Part, area, bar, nice
from jobs.report.summary import TONES, Line, duration, exact, percent
from jobs.store.bucket import Store

WAYS = ("day", "job", "label", "model")
MOST = 50  # groups in a list, the dearest first


def _reports() -> dict[str, Report]:
    return {way: Report() for way in WAYS}


@dataclass(frozen=True, slots=True)
class Month:
    """`by` has a report for each of `WAYS`; their totals are the same."""

    year: int
    month: int
    by: dict[str, Report] = field(default_factory=_reports)

    @property
    def total(self) -> Sums:
        return self.by["day"].total

    @property
    def name(self) -> str:
        return f"{calendar.month_name[self.month]} {self.year}"

    @property
    def length(self) -> int:
        return calendar.monthrange(self.year, self.month)[1]

    @property
    def jobs(self) -> int:
        return len(self.by["job"].groups.keys() - {NOBODY})

    @property
    def days(self) -> Sequence[tuple[str, Sums]]:
        return list(self.by["day"].in_order())

    def dearest(self, way: str) -> Sequence[tuple[str, Sums]]:
        return list(self.by[way].in_order())[:MOST]

    def beside(self, step: int) -> str:
        """The month before or after, as an address has it."""
        year, month = divmod(self.year * 12 + self.month - 1 + step, 12)
        return f"{year:04d}-{month + 1:02d}"

    def chart(self) -> tuple[Markup, Sequence[str]]:
        """USD a day, and the marks of its scale."""
        days = {int(day[-2:]): float(sums.total_usd or 0) for day, sums in self.days}
        top = nice(max(days.values(), default=0.0))
        points = [(float(day), days.get(day + 1, 0.0)) for day in range(self.length)]
        marks = [f"{top * share:g}" for share in (1.0, 0.5, 0.0)]
        return area(f"USD a day in {self.name}", points, float(self.length), top), marks

    def classes(self) -> tuple[Markup, Sequence[Line]]:
        """A bar of the seven classes by cost, and lines of them and of what is no node's time."""
        total, sums = self.total.total_usd, self.total
        names = (*CLASSES, *(name for name in sums.usd if name not in CLASSES))
        known = {name: sums.usd.get(name) for name in names}
        parts = [Part(name, float(known[name] or 0), _tone(name)) for name in names]
        lines = [
            Line(
                name,
                _tone(name),
                duration(float(sums.billed_s[name])) if name in sums.billed_s else "",
                percent(float(usd or 0), float(total or 0)),
                _usd(usd, total),
            )
            for name, usd in known.items()
        ]
        return bar("What each class of time cost", parts), lines


def month_of(store: Store, bucket: str, year: int, month: int) -> Month:
    """Summed as a stream: nothing grows with the month but its groups."""
    summed = Month(year, month)
    last = calendar.monthrange(year, month)[1]
    keys = {way: keys_of(way) for way in WAYS}
    for entry in entries(store, bucket, date(year, month, 1), date(year, month, last)):
        for way, report in summed.by.items():
            report.add(entry, keys[way](entry))
    return summed


def _usd(usd: Decimal | None, total: Decimal | None) -> str:
    """Of a class: nothing, unless no amount at all is known."""
    if total is None:
        return "unknown"
    return exact(str(usd or Decimal(0)))


def _tone(name: str) -> str:
    return TONES.get(name, "other")
