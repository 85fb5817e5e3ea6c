"""Verify: compute every bill again from the ledger's entries alone, and compare.

Node times, tenancies, cuts and the offer give the classes, the meter and the amounts; a node's
entries must sum to the node, and a job's to its receipt. Nothing here writes.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal

from jobs.addresses import Address, JobPaths
from jobs.cost import ledger
from jobs.cost.attribution import Share, Tenant, attribute
from jobs.cost.bill import bill_of
from jobs.cost.entry import Entry, NodeTimes
from jobs.cost.lines import Line
from jobs.cost.meter import Meter, in_seconds, to_ms
from jobs.cost.receipt import Receipt, parse_receipt
from jobs.cost.shares import in_usd
from jobs.errors import NotFound
from jobs.record import RecordFile
from jobs.store.bucket import Store
from jobs.stretches import length, union


def verify(
    store: Store, bucket: str, since: date | None = None, until: date | None = None
) -> Iterator[str]:
    """What is wrong in the books of some days, one line each; nothing when they are right.

    A node or a job that lies partly outside of the days is checked by what of it lies within.
    """
    jobs: dict[str, None] = {}
    yield from problems(_noted(ledger.entries(store, bucket, since, until), jobs))
    for job_id in jobs:
        yield from _receipt_of(store, bucket, job_id)


def _noted(entries: Iterable[Entry], jobs: dict[str, None]) -> Iterator[Entry]:
    for entry in entries:
        if entry.job_id is not None:
            jobs.setdefault(entry.job_id)
        yield entry


def problems(entries: Iterable[Entry]) -> Iterator[str]:
    """What contradicts itself in a stream of entries, in one pass.

    Of nodes that are wholly told only the names are kept, so a month is checked in little memory.
    """
    open_nodes: dict[str, list[Entry]] = defaultdict(list)
    told: set[str] = set()
    for entry in entries:
        if entry.node is None:
            yield from _line_problems(entry)
            continue
        name = entry.node.node_id
        if name in told:
            yield f"{entry.name}: all of its node is told already, so its time is counted twice"
            continue
        open_nodes[name].append(entry)
        if _is_whole(open_nodes[name]):
            told.add(name)
            yield from node_problems(open_nodes.pop(name))
    for mine in open_nodes.values():
        yield from node_problems(mine)


def _is_whole(entries: Sequence[Entry]) -> bool:
    """Whether a node that is gone is told from its launch to its end."""
    node = _last_known(entries)
    if node.gone_at is None:
        return False
    return _told_ms(entries) >= to_ms(node.gone_at) - to_ms(node.launched_at)


def _told_ms(entries: Sequence[Entry]) -> int:
    return length(union(_span(each) for each in entries))


def _span(entry: Entry) -> tuple[int, int]:
    """The part of a tenancy that the node lived."""
    assert entry.node is not None, "only of nodes"
    begin = max(to_ms(entry.since), to_ms(entry.node.launched_at))
    gone_at = entry.until if entry.node.gone_at is None else min(entry.node.gone_at, entry.until)
    return begin, max(begin, to_ms(gone_at))


def _last_known(entries: Sequence[Entry]) -> NodeTimes:
    """The node's times as the latest entry has them."""
    times = [each.node for each in sorted(entries, key=lambda each: each.until) if each.node]
    return times[-1]


def node_problems(entries: Sequence[Entry]) -> Iterator[str]:
    """What is wrong in all entries of one node."""
    node, first = _last_known(entries), entries[0]
    tenants = [Tenant(each.since, each.until, each.cuts) for each in entries]
    names = [each.name for each in entries]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"{name}: there twice, so its time is counted twice"
    shares = attribute(node, first.offer, tenants, first.kind == "head")
    for entry, share in zip(entries, shares, strict=True):
        yield from _entry_problems(entry, share)
    yield from _sum_problems(node, entries)


def _entry_problems(entry: Entry, share: Share) -> Iterator[str]:
    amounts = [*entry.raw_s.values(), *entry.billed_s.values(), *(entry.usd or {}).values()]
    least = min(amounts, default=Decimal(0))
    if least < 0:
        yield f"{entry.name}: {least} is negative"
    if not entry.raw_s:  # version 1 told no more than the sum
        metered = sum(share.billed_s.values())
        if metered != entry.seconds:
            yield f"{entry.name}: {entry.seconds} s billed, {metered} s by the meter"
        return
    for what, told, right in (
        ("ran", entry.raw_s, share.raw_s),
        ("billed", entry.billed_s, share.billed_s),
        ("USD", entry.usd, share.usd),
    ):
        if _some(told) != _some(right):
            yield f"{entry.name}: {what} {_shown(told)}, computed again {_shown(right)}"


def _some(amounts: dict[str, Decimal] | None) -> dict[str, Decimal] | None:
    return None if amounts is None else {name: n for name, n in amounts.items() if n}


def _shown(amounts: dict[str, Decimal] | None) -> str:
    if amounts is None:
        return "unknown"
    return ", ".join(f"{name} {amount.normalize():f}" for name, amount in amounts.items()) or "none"


def _sum_problems(node: NodeTimes, entries: Sequence[Entry]) -> Iterator[str]:
    """Where the node is wholly told, its entries sum to its meter to the last digit."""
    if node.gone_at is None or not _is_whole(entries):
        return
    meter = Meter(node, entries[0].offer, entries[0].kind == "head")
    end = to_ms(node.gone_at)
    seconds, shown = sum(each.seconds for each in entries), in_seconds(meter.ms(end))
    if seconds != shown:
        yield f"{node.node_id}: {seconds} s in the ledger, its meter shows {shown} s"
    quanta, amounts = meter.quanta(end), [each.amount for each in entries]
    known = [amount for amount in amounts if amount is not None]
    if quanta is None or len(known) < len(amounts):
        if quanta is not None or known:
            yield f"{node.node_id}: its price is known to some of its entries alone"
    elif sum(known, Decimal(0)) != in_usd(quanta):
        shown, found = in_usd(quanta), sum(known)
        yield f"{node.node_id}: {found} USD in the ledger, its meter shows {shown} USD"


def _line_problems(entry: Entry) -> Iterator[str]:
    if entry.quantity is None or entry.quantity < 0:
        yield f"{entry.name}: its quantity is {entry.quantity}"
        return
    right = Line(entry.kind, entry.quantity, entry.unit, entry.price).usd
    if _some(entry.usd) != _some(right):
        yield f"{entry.name}: USD {_shown(entry.usd)}, computed again {_shown(right)}"


def _receipt_of(store: Store, bucket: str, job_id: str) -> Iterator[str]:
    """A final receipt says what the ledger says of the job, on whatever days."""
    try:
        record = RecordFile(store, JobPaths.of(bucket, job_id)).load()
        receipt = parse_receipt(store.read(Address.parse(record.output) / "receipt.json"))
    except NotFound:
        return  # a job that has not ended, or another's output by now
    if receipt.job_id == job_id and receipt.version == 2 and receipt.bill.final:
        now = datetime.now(UTC).timestamp()
        mine = list(ledger.entries_of(store, bucket, job_id, record.created_at, now))
        yield from receipt_problems(receipt, mine)


def receipt_problems(receipt: Receipt, entries: Sequence[Entry]) -> Iterator[str]:
    """Where a receipt contradicts itself, or the entries of its job."""
    told, bill = receipt.bill, bill_of(entries)
    pairs: list[tuple[str, object, object]] = [
        ("total_usd", told.total_usd, bill.usd),
        ("billed_s", told.billed_s, bill.billed_s),
        ("raw_s", told.raw_s, bill.raw_s),
    ]
    for phase in told.phases:
        right = None if bill.costs is None else bill.costs[phase.phase]
        pairs.append((f"{phase.phase} USD", phase.usd, right))
        pairs.append((f"{phase.phase} seconds", phase.seconds, bill.seconds[phase.phase]))
    if told.rows_usd is not None and told.overhead_usd is not None:
        pairs.append(("rows and overhead", told.rows_usd + told.overhead_usd, told.total_usd))
    for what, shown, found in pairs:
        if shown != found:
            yield f"{receipt.job_id}: its receipt has {what} {shown}, the ledger {found}"
