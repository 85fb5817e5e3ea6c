"""The published rules of FOCUS 1.2, held against rows as they stand in a file.

Rows are texts by column, None for null, so that what is judged is what was written. Which rules are
covered, and which can't be judged from a file alone, is in docs/cost-commands.md.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from jobs.cost.currencies import CURRENCIES
from jobs.cost.focus_columns import FOCUS_COLUMNS, MANDATORY, SUBCATEGORIES, Column

Row = Mapping[str, str | None]

# "Must match" is said without a bound; ours is below what any invoice shows, and above what
# cutting one meter reading into parts of a billionth can lose.
TOLERANCE = Decimal("0.00000001")
NUMBER = re.compile(r"-?\d+(\.\d+)?([eE]-?\d+)?")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
OWN = re.compile(r"x_[A-Z][A-Za-z0-9]*")
TWICE_PRICED = (("ListCost", "ListUnitPrice"), ("ContractedCost", "ContractedUnitPrice"))
PRICED_WHEN_USED = (
    "PricingQuantity",
    "PricingCategory",
    "ListUnitPrice",
    "ContractedUnitPrice",
    "SkuId",
    "SkuPriceId",
)
# The second is null exactly when the first is.
TOGETHER = (
    ("ConsumedQuantity", "ConsumedUnit"),
    ("PricingQuantity", "PricingUnit"),
    ("ResourceId", "ResourceType"),
)
ONLY_WITH = (
    ("SkuId", "SkuMeter"),
    ("SkuPriceId", "SkuPriceDetails"),
    ("ResourceId", "ResourceName"),
)


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that a row breaks; rows are counted from 1, and row 0 is the header."""

    row: int
    column: str
    text: str

    def __str__(self) -> str:
        where = f"row {self.row}" if self.row else "header"
        return f"{where}: {self.column}: {self.text}"


def check_header(names: Sequence[str]) -> list[Broken]:
    """Required columns, each once; ours marked as such, and last."""
    known = {each.name for each in FOCUS_COLUMNS}
    broken = [Broken(0, name, "is missing") for name in MANDATORY if name not in names]
    broken += [
        Broken(0, name, "stands twice") for name in sorted({*names}) if names.count(name) > 1
    ]
    own = [name for name in names if name not in known]
    broken += [
        Broken(0, name, "is no column of FOCUS that we know, and is not named x_LikeThis")
        for name in own
        if not OWN.fullmatch(name)
    ]
    if list(names[len(names) - len(own) :]) != own:
        broken.append(Broken(0, own[0], "stands before columns of FOCUS"))
    return broken


def check_rows(rows: Iterable[Row]) -> Iterator[Broken]:
    """Every broken rule of every row, in order; memory grows with services and prices alone."""
    parents = _Parents()
    for number, row in enumerate(rows, start=1):
        for column in FOCUS_COLUMNS:
            if column.name in row and (text := _value(column, row[column.name])):
                yield Broken(number, column.name, text)
        for rule in (*_RULES, parents.check):
            for name, text in rule(row):
                yield Broken(number, name, text)


Found = Iterator[tuple[str, str]]


def _value(column: Column, value: str | None) -> str:
    """What is wrong with one value by itself; empty when nothing is."""
    if value is None:
        return "" if column.nulls else "is null"
    if not value.strip():
        return "is an empty text, which must not stand for null"
    if column.allowed and value not in column.allowed:
        return f"is {value!r}; allowed: {', '.join(sorted(column.allowed))}"
    return _FORMS[column.kind](column, value)


def _text(column: Column, value: str) -> str:
    return ""


def _decimal(column: Column, value: str) -> str:
    if not NUMBER.fullmatch(value):
        return f"is {value!r}; allowed: digits, one point, a sign if negative, E notation"
    if column.least is not None and Decimal(value) < column.least:
        return f"is {value}; allowed: {column.least} or more"
    return ""


def _moment(column: Column, value: str) -> str:
    return "" if _read_moment(value) else f"is {value!r}; allowed: YYYY-MM-DDTHH:mm:ssZ"


def _currency(column: Column, value: str) -> str:
    return "" if value in CURRENCIES else f"is {value!r}; allowed: a currency code of ISO 4217"


def _json(column: Column, value: str) -> str:
    try:
        pairs = json.loads(value, object_pairs_hook=list)
    except ValueError:
        return "is not JSON"
    if not isinstance(pairs, list) or not value.lstrip().startswith("{"):
        return "is not an object"
    if len({key for key, _ in pairs}) < len(pairs):
        return "has a key twice"
    nested = [key for key, each in pairs if isinstance(each, list)]
    return f"has an object or a list under {nested[0]!r}" if nested else ""


_FORMS: dict[str, Callable[[Column, str], str]] = {
    "text": _text,
    "decimal": _decimal,
    "moment": _moment,
    "currency": _currency,
    "json": _json,
}


def _periods(row: Row) -> Found:
    for name in ("ChargePeriod", "BillingPeriod"):
        start, end = _moment_of(row, f"{name}Start"), _moment_of(row, f"{name}End")
        if start and end and start >= end:
            yield f"{name}End", f"is not after {name}Start"


def _usage(row: Row) -> Found:
    """What must, and must not, be null by the kind of charge."""
    category, correction = row.get("ChargeCategory"), row.get("ChargeClass") == "Correction"
    for name in PRICED_WHEN_USED:
        if name not in row:
            continue
        if category == "Tax" and row[name] is not None:
            yield name, "is not null though the charge is a tax"
        if category in ("Usage", "Purchase") and not correction and row[name] is None:
            yield name, f"is null though ChargeCategory is {category}"
    if "ConsumedQuantity" in row:
        if category != "Usage" and row["ConsumedQuantity"] is not None:
            yield "ConsumedQuantity", "is not null though the charge is no usage"
        if category == "Usage" and not correction and row["ConsumedQuantity"] is None:
            yield "ConsumedQuantity", "is null though ChargeCategory is Usage"
    if category == "Purchase" and row.get("ChargeFrequency") == "Usage-Based":
        yield "ChargeFrequency", "is Usage-Based though ChargeCategory is Purchase"


def _nulls(row: Row) -> Found:
    for first, second in TOGETHER:
        if first in row and second in row and (row[first] is None) != (row[second] is None):
            yield second, f"and {first} must be null together, or neither"
    for first, second in ONLY_WITH:
        if second in row and row.get(first) is None and row[second] is not None:
            yield second, f"is not null though {first} is"
    if row.get("ResourceName") is not None and row.get("ResourceName") == row.get("ResourceId"):
        yield "ResourceName", "repeats ResourceId"


def _costs(row: Row) -> Found:
    """Price times quantity is the cost; a cost without a price is what was billed."""
    if row.get("ChargeClass") == "Correction":
        return
    billed, quantity = _number(row, "BilledCost"), _number(row, "PricingQuantity")
    for cost_name, price_name in TWICE_PRICED:
        cost, price = _number(row, cost_name), _number(row, price_name)
        if cost is None:
            continue
        if price is not None and quantity is not None and abs(price * quantity - cost) > TOLERANCE:
            yield cost_name, f"is {cost}, but {price_name} x PricingQuantity is {price * quantity}"
        if price is None and row.get("ChargeCategory") == "Credit" and cost != billed:
            yield cost_name, "of a credit is not what was billed"
    effective = _number(row, "EffectiveCost")
    if row.get("ChargeCategory") == "Credit" and effective != billed:
        yield "EffectiveCost", "of a credit is not what was billed"


def _subcategory(row: Row) -> Found:
    parent = SUBCATEGORIES.get(row.get("ServiceSubcategory") or "")
    if parent is not None and parent != row.get("ServiceCategory"):
        yield "ServiceSubcategory", f"belongs to ServiceCategory {parent}"


_RULES = (_periods, _usage, _nulls, _costs, _subcategory)


@dataclass(slots=True)
class _Parents:
    """Rules across rows: a service has one category, a price one SKU."""

    seen: dict[tuple[str, str], str | None] = field(default_factory=dict)

    def check(self, row: Row) -> Found:
        for child, parent in (("ServiceName", "ServiceCategory"), ("SkuPriceId", "SkuId")):
            value = row.get(child)
            if value is None:
                continue
            first = self.seen.setdefault((child, value), row.get(parent))
            if first != row.get(parent):
                yield child, f"{value!r} has more than one {parent}"


def _read_moment(value: str | None) -> datetime | None:
    if value is None or not MOMENT.fullmatch(value):
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


def _moment_of(row: Row, name: str) -> datetime | None:
    return _read_moment(row.get(name))


def _number(row: Row, name: str) -> Decimal | None:
    value = row.get(name)
    return Decimal(value) if value is not None and NUMBER.fullmatch(value) else None
