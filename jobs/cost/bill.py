"""A bill: what entries of the ledger add up to. Exact, as nothing is rounded on the way."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from jobs.cost.entry import CLASSES, Entry
from jobs.cost.lines import not_priced

NOTHING = Decimal(0)


@dataclass(frozen=True, slots=True)
class Bill:
    """Billed seconds and USD of nodes, in all and by class, and what is beside them.

    usd          of everything that has a price; None: that of a node is unknown
    seconds      billed, by class of node time
    costs        USD by class of node time; None: unknown
    ran          what the nodes really ran, by class: what a meter rounds up tells nothing of speed
    nodes        how many there were
    lines        entries that are no node's
    not_priced   what is not in `usd`, in words
    """

    usd: Decimal | None
    billed_s: Decimal
    raw_s: Decimal
    seconds: Mapping[str, Decimal]
    costs: Mapping[str, Decimal] | None
    ran: Mapping[str, Decimal]
    nodes: int
    lines: tuple[Entry, ...] = ()
    not_priced: tuple[str, ...] = ()

    @property
    def work_usd(self) -> Decimal | None:
        """What rows share; None: unknown."""
        return None if self.costs is None else self.costs["work"]


def bill_of(entries: Sequence[Entry]) -> Bill:
    """What `entries` add up to; nothing at all costs nothing."""
    nodes = [entry for entry in entries if entry.kind == "node"]
    beside = tuple(entry for entry in entries if entry.kind != "node")
    costs = _costs(nodes)
    seconds = _sums(entry.billed_s for entry in nodes)
    ran = _sums(entry.raw_s for entry in nodes)
    priced = sum((entry.amount or NOTHING for entry in beside), NOTHING)
    return Bill(
        usd=None if costs is None else sum(costs.values(), priced),
        billed_s=sum(seconds.values(), NOTHING),
        raw_s=sum(ran.values(), NOTHING),
        seconds=seconds,
        costs=costs,
        ran=ran,
        nodes=len({entry.node.node_id for entry in nodes if entry.node is not None}),
        lines=beside,
        not_priced=not_priced(beside),
    )


def _costs(nodes: Iterable[Entry]) -> dict[str, Decimal] | None:
    amounts = [entry.usd for entry in nodes]
    known = [usd for usd in amounts if usd is not None]
    return None if len(known) < len(amounts) else _sums(known)


def _sums(of_entries: Iterable[Mapping[str, Decimal]]) -> dict[str, Decimal]:
    sums = dict.fromkeys(CLASSES, NOTHING)
    for each in of_entries:
        for name, amount in each.items():
            sums[name] += amount
    return sums
