"""The receipt: what was asked, what came out, what it cost and that every cluster is gone.

Written before the success marker with the bill so far, and once more when the job's node time has
ended and the bill is final. It tells of all clusters that the job had, of every claim. Amounts are
decimal strings in USD; one that is unknown is null.
"""

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Literal

from infra.catalogue.billing import unit_words
from jobs.addresses import Address
from jobs.cost.bill import Bill, bill_of
from jobs.cost.entry import CLASSES, Entry, NodeTimes
from jobs.errors import NotFound
from jobs.money import Plain
from jobs.noun import Noun
from jobs.record import Checked, OfferSnapshot, Record
from jobs.store.bucket import Store
from jobs.totals import Totals


class BilledPhase(Noun):
    """A class of node time; `raw_s` is what really ran, before the provider's meter."""

    phase: str
    seconds: Plain
    usd: Plain | None
    raw_s: Plain | None = None


class BilledLine(Noun):
    """What is no node's time: so many of a unit; `usd` None: the price is unknown."""

    kind: str
    quantity: Plain
    unit: str
    usd: Plain | None


class Stay(Noun):
    """One claim's time on one cluster."""

    cluster_id: str
    epoch: int
    since: float
    until: float
    nodes: int
    billed_s: Plain
    usd: Plain | None
    setback: bool
    preempted: bool


class ReceiptBill(Noun):
    """`final` is False while the cluster still runs.

    rows_usd       what the rows were charged together; the rest of the total is overhead
    phases         of all nodes, summing to `billed_s` and, with the lines, to the total
    not_priced     what is not in the total, since nobody told its price
    setback_usd    of the total, what claims that ended in a setback or a preemption cost
    skew_s         by how much a worker's clock differed, where that was noticed
    unit           how node time is billed, in words: also that it is assumed
    """

    currency: Literal["USD"] = "USD"
    final: bool
    total_usd: Plain | None
    rows_usd: Plain | None = None
    overhead_usd: Plain | None = None
    billed_s: Plain
    raw_s: Plain
    usd_per_1000_images: Plain | None
    phases: tuple[BilledPhase, ...]
    lines: tuple[BilledLine, ...] = ()
    not_priced: tuple[str, ...] = ()
    offer: OfferSnapshot
    nodes: tuple[NodeTimes, ...]
    stays: tuple[Stay, ...] = ()
    setbacks: int = 0
    preemptions: int = 0
    setback_usd: Plain | None = None
    skew_s: float = 0.0
    unit: str = ""


class Teardown(Noun):
    """Of the job's last cluster."""

    cluster_id: str
    gone_at: float | None = None
    checked: str = "the cluster still runs"


class Receipt(Noun):
    """`receipt.json`; version 1 told of a job's last cluster alone, in three classes."""

    version: Literal[1, 2] = 2
    job_id: str
    state: str
    reason: str
    model: str
    images: int
    ok: int
    errors: int
    error_codes: dict[str, int]
    prompt_tokens: int
    image_tokens: int
    output_tokens: int
    wasted_tokens: int = 0
    warnings: tuple[str, ...] = ()
    phases_s: dict[str, float]
    labels: dict[str, str]
    checked: tuple[Checked, ...] = ()
    bill: ReceiptBill
    teardown: Teardown


def make_receipt(
    record: Record,
    totals: Totals,
    bill: ReceiptBill,
    teardown: Teardown,
) -> Receipt:
    return Receipt(
        job_id=record.job_id,
        state=record.state.value,
        reason=record.reason,
        model=record.model,
        images=totals.rows,
        ok=totals.ok,
        errors=totals.errors,
        error_codes=totals.codes,
        prompt_tokens=totals.prompt_tokens,
        image_tokens=totals.image_tokens,
        output_tokens=totals.output_tokens,
        wasted_tokens=totals.wasted_tokens,
        warnings=totals.warnings,
        phases_s=phase_seconds(record, teardown.gone_at),
        labels=record.labels,
        checked=record.checked,
        bill=bill,
        teardown=teardown,
    )


def phase_seconds(record: Record, gone_at: float | None) -> dict[str, float]:
    """Seconds of each state; after the end state it is `resting`, until the cluster is gone.

    A state that was entered twice, because the job was handed on, counts from the last time.
    """
    entered = {"queued": record.created_at, **record.entered}
    names = sorted(entered, key=lambda name: entered[name])
    moments = [entered[name] for name in names]
    ends = [*moments[1:], gone_at or moments[-1]]
    named = [*names[:-1], "resting"]
    return {
        name: round(max(0.0, end - start), 3)
        for name, start, end in zip(named, moments, ends, strict=True)
    }


def receipt_bill(
    entries: Sequence[Entry], record: Record, images: int, rows_usd: Decimal | None, final: bool
) -> ReceiptBill:
    """The bill of all `entries` of a job; `rows_usd` is what its rows were charged."""
    assert record.offer is not None, "a job that was planned has an offer"
    bill = bill_of(entries)
    stays = _stays(entries)
    known = None not in (bill.usd, rows_usd)
    lost = bill_of([entry for entry in entries if entry.setback])
    return ReceiptBill(
        final=final,
        total_usd=bill.usd,
        rows_usd=rows_usd,
        overhead_usd=bill.usd - rows_usd if known else None,  # type: ignore[operator]
        billed_s=bill.billed_s,
        raw_s=bill.raw_s,
        usd_per_1000_images=_per_thousand(bill.usd, images),
        phases=_phases(bill),
        lines=tuple(_line(entry) for entry in bill.lines if entry.quantity is not None),
        not_priced=bill.not_priced,
        offer=record.offer,
        nodes=_nodes(entries),
        stays=stays,
        setbacks=len(record.setbacks),
        preemptions=record.preemptions,
        setback_usd=lost.usd,
        unit=unit_words(record.offer.billing_granularity_s),
        skew_s=max((entry.skew_s for entry in entries), key=abs, default=0.0),
    )


def _phases(bill: Bill) -> tuple[BilledPhase, ...]:
    costs = bill.costs or dict.fromkeys(CLASSES)
    return tuple(
        BilledPhase(phase=name, seconds=bill.seconds[name], usd=costs[name], raw_s=bill.ran[name])
        for name in CLASSES
    )


def _line(entry: Entry) -> BilledLine:
    assert entry.quantity is not None, "a line has a quantity"
    return BilledLine(kind=entry.kind, quantity=entry.quantity, unit=entry.unit, usd=entry.amount)


def _nodes(entries: Sequence[Entry]) -> tuple[NodeTimes, ...]:
    """Each node once, as it was last known."""
    found = {entry.node.node_id: entry.node for entry in entries if entry.node is not None}
    return tuple(sorted(found.values(), key=lambda node: (node.launched_at, node.node_id)))


def _stays(entries: Sequence[Entry]) -> tuple[Stay, ...]:
    keys = dict.fromkeys((each.epoch, each.cluster_id) for each in entries)
    return tuple(
        _stay([each for each in entries if (each.epoch, each.cluster_id) == key])
        for key in sorted(keys)
    )


def _stay(entries: Sequence[Entry]) -> Stay:
    bill, one = bill_of(entries), entries[0]
    return Stay(
        cluster_id=one.cluster_id,
        epoch=one.epoch,
        since=min(each.since for each in entries),
        until=max(each.until for each in entries),
        nodes=bill.nodes,
        billed_s=bill.billed_s,
        usd=bill.usd,
        setback=any(each.setback for each in entries),
        preempted=any(each.preempted for each in entries),
    )


def _per_thousand(usd: Decimal | None, images: int) -> Decimal | None:
    if usd is None or not images:
        return None
    return (usd * 1000 / images).quantize(Decimal("0.000001"))


def receipt_bytes(receipt: Receipt) -> bytes:
    return receipt.model_dump_json(indent=1).encode()


def parse_receipt(body: bytes) -> Receipt:
    """A receipt of this version or the one before, which had no other fields."""
    return Receipt.model_validate({"version": 1, **json.loads(body)})


def read_receipt(body: bytes) -> dict[str, Any]:
    return parse_receipt(body).model_dump(mode="json")


def receipt_of(store: Store, record: Record) -> dict[str, Any] | None:
    """The receipt in the job's output; None before there is one, or when it is another job's."""
    try:
        receipt = read_receipt(store.read(Address.parse(record.output) / "receipt.json"))
    except NotFound:
        return None
    return receipt if receipt["job_id"] == record.job_id else None
