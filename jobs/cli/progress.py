"""A live progress bar of one job: pictures, rate, cost so far, estimate to finish."""

import time
from collections.abc import Callable
from decimal import Decimal

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from jobs.cost.projection import projected_usd
from jobs.plurals import plural
from jobs.record import Record

LINE_EVERY_S = 10.0  # without a terminal, where a bar can't move


def money(usd: Decimal | None) -> str:
    return "unknown" if usd is None else f"${usd:.4f}"


class JobProgress:
    """Follows a job to its end, on a terminal as a bar, else as a line now and then."""

    def __init__(self, console: Console, poll_s: float, idle_s: float = 0.0) -> None:
        self._console, self._poll_s, self._idle_s = console, poll_s, idle_s
        self._last_line = 0.0
        self._bar = Progress(
            TextColumn("{task.fields[state]:<12}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TextColumn("{task.fields[cost]}"),
            TimeElapsedColumn(),
            TextColumn("eta"),
            TimeRemainingColumn(compact=True),
            console=console,
            transient=True,
        )

    def follow(self, load: Callable[[], Record], stop: Callable[[], bool]) -> Record:
        """Show the record until it has ended or `stop` says so; answers the last one."""
        if not self._console.is_terminal:
            return self._lines(load, stop)
        with self._bar:
            task = self._bar.add_task("", total=None, state="queued", rate="", cost="")
            while True:
                record = load()
                self._bar.update(
                    task,
                    total=record.counts.total or None,
                    completed=record.counts.done,
                    state=record.state.value,
                    rate=rate(record),
                    cost=cost_so_far(record, self._idle_s),
                )
                if record.state.ended or stop():
                    return record
                time.sleep(self._poll_s)

    def _lines(self, load: Callable[[], Record], stop: Callable[[], bool]) -> Record:
        shown = ""
        while True:
            record = load()
            now = time.monotonic()
            if record.state.value != shown or now - self._last_line > LINE_EVERY_S:
                shown, self._last_line = record.state.value, now
                self._console.print(line(record, self._idle_s))
            if record.state.ended or stop():
                return record
            time.sleep(self._poll_s)


def rate(record: Record) -> str:
    found = record.pictures_a_second(time.time())
    return "" if found is None else f"{found:.1f} images/s"


def cost_so_far(record: Record, idle_s: float = 0.0) -> str:
    """`$0.0270, about $0.05 in all`; empty before there is a cost, or where it is unknown."""
    if record.cost_usd is None:
        return ""
    end = None if record.state.ended else projected_usd(record, time.time(), idle_s)
    return money(record.cost_usd) + (f", about ${end:.2f} in all" if end is not None else "")


def line(record: Record, idle_s: float = 0.0) -> str:
    counts = record.counts
    parts = [record.job_id, record.state.value]
    if counts.total:
        parts.append(f"{counts.done}/{counts.total} {plural(counts.total, 'image')}")
    parts += [rate(record), cost_so_far(record, idle_s)]
    return "  ".join(part for part in parts if part)
