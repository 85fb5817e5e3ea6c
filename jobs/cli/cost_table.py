"""A report of cost for people and spreadsheets: a table, bars and CSV.

Unknown is said so, never 0. In a pipe there is no colour and no line is broken.
"""

import csv
import sys
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from rich.console import Console
from rich.text import Text

from jobs.cli.columns import print_columns
from jobs.cost.comparison import AtEndpoint
from jobs.cost.entry import CLASSES
from jobs.cost.report import Report, Sums
from jobs.cost.report_json import sums_to_json
from jobs.plurals import counted, plural

UNKNOWN = "unknown"
PARTLY = "+"  # after an amount that lacks entries without a price
MONEY = Decimal("0.000001")
SECONDS = Decimal("0.1")
COLOURS = {
    "startup": "blue",
    "model_load": "cyan",
    "work": "green",
    "input_wait": "yellow",
    "wasted": "red",
    "idle": "magenta",
    "teardown": "bright_black",
}
LONGEST_BAR, SHORTEST_KEY = 30, 12
NAMES = ("USD", "per 1,000", "pictures", "raw s", "billed s")


def usd(amount: Decimal | None) -> str:
    return UNKNOWN if amount is None else f"{amount.quantize(MONEY):f}"


def print_report(console: Console, report: Report, by: str) -> None:
    """The groups and their sum, then where the money went."""
    rows = [_row(key, sums) for key, sums in report.in_order()]
    rows.append(_row("total", report.total))
    if console.is_terminal:
        most = max(SHORTEST_KEY, console.width - 24)
        rows = [[_shortened(row[0], most), *row[1:]] for row in rows]
    print_columns(console, [by, *NAMES], rows, right=range(1, len(NAMES) + 1))
    print_classes(console, report.total)
    print_unpriced(console, report.total)


def _row(key: str, sums: Sums) -> list[str]:
    return [
        key,
        usd(sums.total_usd) + (PARTLY if sums.unpriced and sums.total_usd is not None else ""),
        "-" if not sums.images else usd(sums.usd_per_1000),
        f"{sums.images:,}" if sums.images else "-",
        _seconds(sums.total_raw_s) if sums.raw_s else UNKNOWN,
        _seconds(sums.total_billed_s),
    ]


def print_classes(console: Console, total: Sums) -> None:
    """A bar for each class of time: its share of what was billed."""
    billed = total.total_billed_s
    if not billed:
        return
    console.print(f"\n{'class':<10} {'USD':>12}  of billed s")
    room = max(4, min(LONGEST_BAR, console.width - 34 if console.is_terminal else LONGEST_BAR))
    for name in CLASSES:
        seconds = total.billed_s.get(name, Decimal(0))
        share = seconds / billed
        amount = total.usd.get(name) if total.total_usd is not None else None
        known = usd(amount or Decimal(0)) if total.total_usd is not None else UNKNOWN
        line = Text(f"{name:<10} {known:>12} {share * 100:>5.1f}%  ")
        mark = "█" if console.is_terminal else "#"
        line.append(mark * _cells(share, room), style=COLOURS[name])
        line.rstrip()
        console.print(line)


def _cells(share: Decimal, room: int) -> int:
    """Whole cells of a bar; what is there at all has one."""
    return max(1, round(share * room)) if share else 0


def print_unpriced(console: Console, total: Sums) -> None:
    if total.unpriced:
        console.print(
            f"{PARTLY} {total.unpriced:,} of {counted(total.entries, 'entry', 'entries')} "
            f"{plural(total.unpriced, 'has', 'have')} no price: in no amount"
        )


def print_otherwise(
    console: Console, report: Report, kept_s: float, at: Iterable[tuple[str, AtEndpoint | None]]
) -> None:
    """The same work at other tariffs; `at` is by model, None where no endpoint is known."""
    total = report.total
    without = f" (without {counted(total.unpriced, 'entry', 'entries')} of unknown price)"
    missing = without if total.unpriced else ""
    hourly = None if total.total_usd is None else total.hourly_usd
    console.print("\nthe same work otherwise, in USD")
    console.print(f"billed by the begun hour  {usd(hourly)}{missing}")
    nodes = report.always_on.nodes
    kept = f"{nodes} {'node' if nodes == 1 else 'nodes'} for {kept_s / 3600:,.1f} h"
    console.print(f"always on, {kept}  {usd(report.always_on.usd(kept_s))}")
    for model, found in at:
        console.print(f"by the token  {_endpoint(model, found)}", markup=False, emoji=False)


def _endpoint(model: str, found: AtEndpoint | None) -> str:
    if found is None:
        return f"{UNKNOWN}: no endpoint is known for {model or 'a model without a name'}"
    return f"{usd(found.usd)} at {found.name}, counted in our tokens"


def print_csv(report: Report, by: str) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    heads = ("entries", "unpriced", "images", "ok", "usd", "usd_per_1000_images")
    writer.writerow([by, *heads, "raw_s", "billed_s", *(f"usd_{name}" for name in CLASSES)])
    for key, sums in [*report.in_order(), ("total", report.total)]:
        flat = sums_to_json(sums)
        parts = [flat["classes"].get(name, {}).get("usd") for name in CLASSES]
        values: Sequence[Any] = [
            key,
            *(flat[name] for name in heads),
            flat["raw_s"],
            flat["billed_s"],
            *parts,
        ]
        writer.writerow([UNKNOWN if value is None else value for value in values])


def _seconds(seconds: Decimal) -> str:
    return f"{seconds.quantize(SECONDS):,f}"


def _shortened(key: str, most: int) -> str:
    return key if len(key) <= most else f"{key[: most // 2 - 1]}…{key[-(most - most // 2) :]}"
