"""A report of cost: entries of the ledger, added up by what is asked for as they pass.

Pure, and a stream: what is kept grows with the groups, never with the entries. Amounts are exact
until they are shown. An entry without a price is counted apart: its seconds count, its cost does
not, and whoever shows a sum says how many are missing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal

from jobs.cost.comparison import AlwaysOn, hourly_usd
from jobs.cost.entry import CLASSES, Entry
from jobs.cost.shares import QUANTUM
from jobs.errors import UserError

NOBODY = "-"  # no job, no label: time of a cluster that nobody had
ZERO = Decimal(0)
WAYS = ("job", "label", "label:NAME", "model", "day", "phase")
Keys = Callable[[Entry], Iterable[str]]


@dataclass(slots=True)
class Sums:
    """What the entries of one group add up to.

    raw_s, billed_s, usd   by class; what is no node's time has its kind for a class in `usd`
    hourly_usd             the same time on nodes that are billed by the begun hour
    unpriced               entries whose price is unknown: they are in no amount; nodes among them
    """

    entries: int = 0
    unpriced: int = 0
    unpriced_nodes: int = 0
    images: int = 0
    ok: int = 0
    raw_s: dict[str, Decimal] = field(default_factory=dict)
    billed_s: dict[str, Decimal] = field(default_factory=dict)
    usd: dict[str, Decimal] = field(default_factory=dict)
    hourly_usd: Decimal = ZERO

    def add(self, entry: Entry) -> None:
        self.entries += 1
        self.images += entry.images
        self.ok += entry.ok
        _add(self.raw_s, entry.raw_s)
        _add(self.billed_s, entry.billed_s)
        hourly = hourly_usd(entry)
        if entry.usd is None or hourly is None:
            self.unpriced += 1
            self.unpriced_nodes += entry.kind == "node"
            return
        _add(self.usd, entry.usd)
        self.hourly_usd += hourly

    @property
    def total_usd(self) -> Decimal | None:
        """None: there are entries, and not one of them has a price."""
        if self.entries and self.unpriced == self.entries:
            return None
        return sum(self.usd.values(), ZERO)

    @property
    def total_raw_s(self) -> Decimal:
        return sum(self.raw_s.values(), ZERO)

    @property
    def total_billed_s(self) -> Decimal:
        return sum(self.billed_s.values(), ZERO)

    @property
    def usd_per_1000(self) -> Decimal | None:
        """USD for 1,000 pictures; None without pictures, or when a node's price is unknown."""
        total = self.total_usd
        if total is None or self.unpriced_nodes or not self.images:
            return None
        return (total * 1000 / self.images).quantize(QUANTUM)


@dataclass(slots=True)
class Report:
    """Groups by their key, what all entries add up to, what the nodes would cost kept on.

    images   by model
    """

    groups: dict[str, Sums] = field(default_factory=dict)
    total: Sums = field(default_factory=Sums)
    always_on: AlwaysOn = field(default_factory=AlwaysOn)
    images: dict[str, int] = field(default_factory=dict)

    def add(self, entry: Entry, keys: Iterable[str]) -> None:
        self.total.add(entry)
        self.always_on.add(entry)
        if entry.images:
            self.images[entry.model] = self.images.get(entry.model, 0) + entry.images
        for key in keys:
            self.groups.setdefault(key, Sums()).add(entry)

    def in_order(self) -> Iterator[tuple[str, Sums]]:
        """Days and classes in their order, all else with the dearest first."""
        if all(key in CLASSES for key in self.groups):
            yield from sorted(self.groups.items(), key=lambda each: CLASSES.index(each[0]))
            return
        if all(_is_day(key) for key in self.groups):
            yield from sorted(self.groups.items())
            return
        yield from sorted(
            self.groups.items(), key=lambda each: (-(each[1].total_usd or 0), each[0])
        )


def make_report(entries: Iterable[Entry], by: str) -> Report:
    """Add `entries` up by `by`, one of `WAYS`; `UserError` when it is none."""
    if by == "phase":
        return _by_class(entries)
    keys, report = keys_of(by), Report()
    for entry in entries:
        report.add(entry, keys(entry))
    return report


def keys_of(by: str) -> Keys:
    """Which groups an entry belongs to; `UserError` names what is allowed."""
    way, colon, name = by.partition(":")
    if way == "label" and colon and name:
        return lambda entry: (entry.labels.get(name, NOBODY),)
    keys = _KEYS.get(by)
    if keys is None:
        raise UserError(f"--by: found {by!r}; allowed: {', '.join(WAYS)}")
    return keys


def _labels(entry: Entry) -> Iterable[str]:
    """Each of its labels: an entry with two is in two groups, which then sum to more than all."""
    return [f"{name}={value}" for name, value in sorted(entry.labels.items())] or [NOBODY]


_KEYS: Mapping[str, Keys] = {
    "job": lambda entry: (entry.job_id or NOBODY,),
    "label": _labels,
    "model": lambda entry: (entry.model or NOBODY,),
    "day": lambda entry: (f"{datetime.fromtimestamp(entry.until, UTC):%Y-%m-%d}",),
    "phase": lambda entry: CLASSES,
}


def _by_class(entries: Iterable[Entry]) -> Report:
    """A group for each class, cut from the total: an entry stands in all of them by a part."""
    report = Report()
    for entry in entries:
        report.add(entry, ())
    total = report.total
    for name in (*CLASSES, *(kind for kind in total.usd if kind not in CLASSES)):
        report.groups[name] = Sums(
            entries=total.entries,
            unpriced=total.unpriced,
            unpriced_nodes=total.unpriced_nodes,
            raw_s=_only(total.raw_s, name),
            billed_s=_only(total.billed_s, name),
            usd=_only(total.usd, name),
        )
    return report


def _only(parts: Mapping[str, Decimal], name: str) -> dict[str, Decimal]:
    return {name: parts[name]} if name in parts else {}


def _add(sums: dict[str, Decimal], parts: Mapping[str, Decimal]) -> None:
    for name, amount in parts.items():
        sums[name] = sums.get(name, ZERO) + amount


def _is_day(key: str) -> bool:
    return len(key) == 10 and key[4] == key[7] == "-" and key.replace("-", "").isdigit()
