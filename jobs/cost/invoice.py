"""Read what a provider says that it billed: a CSV export in FOCUS's columns, or our simple one.

Simple: `resource_id,start,end,seconds,amount,currency`, moments in ISO 8601 with their offset or Z.
A file that can't be read so is refused in one line that names the line and the column.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path

from jobs.cost.currencies import CURRENCIES
from jobs.errors import UserError

SIMPLE = ("resource_id", "start", "end", "seconds", "amount", "currency")
FOCUS = (
    "ResourceId",
    "ChargePeriodStart",
    "ChargePeriodEnd",
    "ConsumedQuantity",
    "BilledCost",
    "BillingCurrency",
)
LONGEST_S = 366 * 86400  # a line is cut at every midnight: centuries would take forever
LARGEST = Decimal(10**12)


@dataclass(frozen=True, slots=True)
class Line:
    """One line about one resource; times in seconds since the epoch."""

    resource_id: str
    start: float
    end: float
    amount: Decimal
    currency: str


def read_invoice(path: Path) -> Iterator[Line]:
    """Its lines about resources, as a stream; `UserError` at the first that is wrong."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            names = _columns(path, reader.fieldnames or ())
            for row in reader:
                line = _line(f"{path}: line {reader.line_num}", row, names)
                if line is not None:
                    yield line
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text at byte {error.start}") from error
    except csv.Error as error:
        raise UserError(f"{path}: not CSV: {error}") from error


def _columns(path: Path, found: Sequence[str]) -> dict[str, str]:
    """Which column of the file has what; the two forms are told by their header."""
    for form in (SIMPLE, FOCUS):
        missing = [name for name in form if name not in found and form.index(name) != 3]
        if not missing:
            return dict(zip(SIMPLE, form, strict=True))
    raise UserError(
        f"{path}: its header is {', '.join(found)[:100] or 'empty'}; allowed: {', '.join(SIMPLE)}, "
        f"or FOCUS columns with {', '.join(name for name in FOCUS if name != FOCUS[3])}"
    )


def _line(where: str, row: Mapping[str, str | None], names: Mapping[str, str]) -> Line | None:
    """A row; None when it is about no resource, as a tax is."""
    if not row.get(names["resource_id"]) and names["resource_id"] == "ResourceId":
        return None
    given = {name: (row.get(column) or "").strip() for name, column in names.items()}
    for name in ("resource_id", "start", "end", "amount", "currency"):
        if not given[name]:
            raise UserError(f"{where}: {names[name]}: missing; it is required")
    start, end = (_moment(where, names[name], given[name]) for name in ("start", "end"))
    if end < start:
        raise UserError(f"{where}: {names['end']}: found an end before the start")
    if end - start > LONGEST_S:
        raise UserError(f"{where}: {names['end']}: found more than a year; allowed: up to 366 days")
    if given["currency"] not in CURRENCIES:
        raise UserError(
            f"{where}: {names['currency']}: found {given['currency']!r}; "
            "allowed: a currency code of ISO 4217"
        )
    amount = _amount(where, names["amount"], given["amount"])
    return Line(given["resource_id"], start, end, amount, given["currency"])


def _moment(where: str, column: str, text: str) -> float:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise UserError(f"{where}: {column}: found {text!r}; allowed: such as 2026-11-01T00:00:00Z")
    return found.timestamp()


def _amount(where: str, column: str, text: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite():
        raise UserError(f"{where}: {column}: found {text[:40]!r}; allowed: a number")
    if abs(amount) > LARGEST:
        raise UserError(f"{where}: {column}: found {text[:40]!r}; allowed: up to {LARGEST}")
    return amount
