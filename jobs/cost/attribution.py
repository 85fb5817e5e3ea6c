"""Whose a node's seconds are, and of which class: every billed second in exactly one.

A tenancy passes through startup, loading of the model, running, idle and teardown; while it runs,
time is work, waste or waiting, by when the engine was busy. The meter is read where a tenancy
begins, where its last row was written, and where it ends. What it billed between two readings is
cut by what really ran: so a coarse meter weighs on every class alike, and what rows were charged
does not change while the cluster idles. Where tenancies overlap, time goes by their engine's busy
seconds.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise

from jobs.cost.entry import CLASSES, Cuts, NodeTimes
from jobs.cost.meter import Meter, in_seconds, to_ms
from jobs.cost.shares import in_usd, share_units
from jobs.record import OfferSnapshot
from jobs.stretches import length, union, within, without

Spans = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Tenant:
    """A job's time on a node, in seconds since the epoch, and what its classes are told by."""

    since: float
    until: float
    cuts: Cuts = field(default_factory=Cuts)


@dataclass(slots=True)
class Share:
    """What of a node is one tenant's, by class: milliseconds and quanta of a USD."""

    raw: Counter[str] = field(default_factory=Counter)
    billed: Counter[str] = field(default_factory=Counter)
    quanta: Counter[str] | None = field(default_factory=Counter)

    @property
    def raw_s(self) -> dict[str, Decimal]:
        return {name: in_seconds(self.raw[name]) for name in CLASSES if self.raw[name]}

    @property
    def billed_s(self) -> dict[str, Decimal]:
        return {name: in_seconds(self.billed[name]) for name in CLASSES if self.billed[name]}

    @property
    def usd(self) -> dict[str, Decimal] | None:
        if self.quanta is None:
            return None
        return {name: in_usd(self.quanta[name]) for name in CLASSES if self.quanta[name]}

    def told(self) -> dict[str, object]:
        """As an entry has it."""
        return {"raw_s": self.raw_s, "billed_s": self.billed_s, "usd": self.usd}


@dataclass(frozen=True, slots=True)
class _Course:
    """A tenant's way on the node in milliseconds: the phases' ends, and when it was busy."""

    ends: tuple[int, ...]
    work: Spans
    wasted: Spans

    @property
    def readings(self) -> tuple[int, int, int]:
        """When the meter is read for it."""
        first, _, _, done, _, last = self.ends
        return first, done, last

    @property
    def busy(self) -> Spans:
        return union([*self.work, *self.wasted])

    def is_there(self, begin: int, end: int) -> bool:
        return self.ends[0] <= begin and end <= self.ends[-1]

    def classes(self, begin: int, end: int) -> list[int]:
        """Milliseconds of each class between two moments, in the order of `CLASSES`."""
        phases = [max(0, min(b, end) - max(a, begin)) for a, b in pairwise(self.ends)]
        startup, model_load, running, idle, teardown = phases
        work, wasted = (length(within(each, begin, end)) for each in (self.work, self.wasted))
        waiting = running - work - wasted
        return [startup, model_load, work, waiting, wasted, idle, teardown]


def attribute(
    node: NodeTimes, offer: OfferSnapshot, tenants: Sequence[Tenant], is_head: bool = False
) -> list[Share]:
    """The share of each tenant in the node; what lies in no tenancy is nobody's, and not here."""
    meter = Meter(node, offer, is_head)
    priced = meter.quanta(0) is not None
    shares = [Share(quanta=Counter() if priced else None) for _ in tenants]
    courses = [_course(node, tenant) for tenant in tenants]
    for begin, end in pairwise(sorted({cut for each in courses for cut in each.readings})):
        there = [(n, each) for n, each in enumerate(courses) if each.is_there(begin, end)]
        if there:
            theirs = [shares[n] for n, _ in there]
            _divide(meter, begin, end, [course for _, course in there], theirs)
    return shares


def _course(node: NodeTimes, tenant: Tenant) -> _Course:
    """Phases follow each other whatever the clocks said: none is turned around."""
    cuts = tenant.cuts
    first = max(to_ms(node.launched_at), to_ms(tenant.since))
    gone_at = tenant.until if node.gone_at is None else min(node.gone_at, tenant.until)
    last = max(first, to_ms(gone_at))
    down = _at(first, last, cuts.drain_at)
    ready = _at(first, down, cuts.ready_at)
    loading = _at(first, ready, cuts.loading_at)
    done = _at(ready, down, cuts.done_at)
    work = within(_in_ms(cuts.work), ready, done)
    wasted = without(within(_in_ms(cuts.wasted), ready, done), work)
    return _Course((first, loading, ready, done, down, last), work, wasted)


def _at(begin: int, end: int, moment: float | None) -> int:
    return end if moment is None else min(end, max(begin, to_ms(moment)))


def _in_ms(stretches: Sequence[tuple[float, float]]) -> Iterator[tuple[int, int]]:
    return ((to_ms(begin), to_ms(end)) for begin, end in stretches)


def _divide(
    meter: Meter, begin: int, end: int, courses: Sequence[_Course], shares: Sequence[Share]
) -> None:
    """Cut what the meter did between two moments by tenant, then by class."""
    busy = [1]  # of one that is alone
    if len(courses) > 1:
        busy = [length(within(course.busy, begin, end)) for course in courses]
    before, after = meter.quanta(begin), meter.quanta(end)
    kinds = [("raw", end - begin), ("billed", meter.ms(end) - meter.ms(begin))]
    if before is not None and after is not None:
        kinds.append(("quanta", after - before))
    for kind, amount in kinds:
        for course, share, part in zip(courses, shares, share_units(amount, busy), strict=True):
            parts = share_units(part, course.classes(begin, end))
            getattr(share, kind).update(dict(zip(CLASSES, parts, strict=True)))
