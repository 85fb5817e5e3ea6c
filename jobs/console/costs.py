"""What a month cost, by day and by job, from the ledger."""

import calendar
import json
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response
from markupsafe import Markup

from jobs.addresses import ledger_root
from jobs.api.ids import is_job_id
from jobs.bucket import Store
from jobs.console.guard import Looking
from jobs.console.pages import PageRoute, page
from jobs.report.charts import area, nice

router = APIRouter(route_class=PageRoute, include_in_schema=False)
MOST = 50  # jobs in the list, the dearest first


@dataclass(slots=True)
class Month:
    """`unknown` counts entries whose amount nobody knows: they are not in the total."""

    year: int
    month: int
    days: dict[int, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    jobs: dict[str, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    unknown: int = 0

    @property
    def total(self) -> Decimal:
        return sum(self.days.values(), Decimal(0))

    @property
    def name(self) -> str:
        return f"{calendar.month_name[self.month]} {self.year}"

    @property
    def dearest(self) -> Sequence[tuple[str, Decimal, bool]]:
        """Name and amount, and whether the name is one that a job can have."""
        first = sorted(self.jobs.items(), key=lambda item: (-item[1], item[0]))[:MOST]
        return [(name, usd, is_job_id(name)) for name, usd in first]

    @property
    def length(self) -> int:
        return calendar.monthrange(self.year, self.month)[1]

    def beside(self, step: int) -> str:
        """The month before or after, as an address has it."""
        year, month = divmod(self.year * 12 + self.month - 1 + step, 12)
        return f"{year:04d}-{month + 1:02d}"

    def chart(self) -> tuple[Markup, Sequence[str]]:
        """USD a day, and the marks of its scale."""
        top = nice(float(max(self.days.values(), default=Decimal(0))))
        points = [(float(day), float(self.days.get(day + 1, 0))) for day in range(self.length)]
        marks = [f"{top * share:g}" for share in (1.0, 0.5, 0.0)]
        return area(f"USD a day in {self.name}", points, float(self.length), top), marks


def month_of(store: Store, bucket: str, year: int, month: int) -> Month:
    """Summed as a stream: nothing grows with the month but its jobs."""
    summed = Month(year, month)
    for day, entry in _entries(store, bucket, year, month):
        if entry["usd"] is None:
            summed.unknown += 1
            continue
        usd = Decimal(entry["usd"])
        summed.days[day] += usd
        summed.jobs[entry.get("job_id") or "no job's"] += usd
    return summed


def _entries(
    store: Store, bucket: str, year: int, month: int
) -> Iterator[tuple[int, dict[str, Any]]]:
    root = ledger_root(bucket) / f"{year:04d}/{month:02d}/"
    for found in store.list(root):
        day = found.address.key.removeprefix(root.key).partition("/")[0]
        yield int(day), json.loads(store.read(found.address))


@router.get("/costs")
def costs(
    viewer: Looking, month: Annotated[str | None, Query(pattern=r"^20\d\d-(0[1-9]|1[0-2])$")] = None
) -> Response:
    wanted = month or datetime.fromtimestamp(time.time(), UTC).strftime("%Y-%m")
    year, number = map(int, wanted.split("-"))
    summed = month_of(viewer.context.store, viewer.context.bucket, year, number)
    chart, marks = summed.chart()
    return page("costs", viewer, month=summed, chart=chart, marks=marks)
