"""The receipt: what was asked, what came out, what it cost and that the cluster is gone.

Written before the success marker with the bill so far, and once more when the cluster is gone and
the bill is final. Amounts are decimal strings in USD.
"""

from decimal import Decimal
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from infra.clusters.base import NodeInterval
from jobs.addresses import Address
from jobs.bill import PHASES, Bill
from jobs.bucket import Store
from jobs.close import Totals
from jobs.errors import NotFound
from jobs.money import Plain
from jobs.record import Checked, OfferSnapshot, Record


class _Noun(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class BilledPhase(_Noun):
    phase: str
    seconds: Plain
    usd: Plain


class ReceiptBill(_Noun):
    """`final` is False while the cluster still runs."""

    currency: Literal["USD"] = "USD"
    final: bool
    total_usd: Plain
    billed_s: Plain
    raw_s: Plain
    usd_per_1000_images: Plain | None
    phases: tuple[BilledPhase, ...]
    offer: OfferSnapshot
    nodes: tuple[NodeInterval, ...]


class Teardown(_Noun):
    cluster_id: str
    gone_at: float | None = None
    checked: str = "the cluster still runs"


class Receipt(_Noun):
    """`receipt.json`."""

    version: Literal[1] = 1
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
    bill: Bill,
    nodes: tuple[NodeInterval, ...],
    teardown: Teardown,
    final: bool,
) -> Receipt:
    assert record.offer is not None, "a job that was planned has an offer"
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
        bill=_bill(bill, record.offer, nodes, totals.rows, final),
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


def _bill(
    bill: Bill, offer: OfferSnapshot, nodes: tuple[NodeInterval, ...], images: int, final: bool
) -> ReceiptBill:
    each = (bill.usd * 1000 / images).quantize(Decimal("0.000001")) if images else None
    phases = tuple(
        BilledPhase(phase=name, seconds=bill.seconds[name], usd=bill.costs[name]) for name in PHASES
    )
    return ReceiptBill(
        final=final,
        total_usd=bill.usd,
        billed_s=bill.billed_s,
        raw_s=bill.raw_s,
        usd_per_1000_images=each,
        phases=phases,
        offer=offer,
        nodes=nodes,
    )


def receipt_bytes(receipt: Receipt) -> bytes:
    return receipt.model_dump_json(indent=1).encode()


def read_receipt(body: bytes) -> dict[str, Any]:
    return Receipt.model_validate_json(body).model_dump(mode="json")


def receipt_of(store: Store, record: Record) -> dict[str, Any] | None:
    """The receipt of a job; None before there is one, or when another job's lies there."""
    try:
        receipt = read_receipt(store.read(Address.parse(record.output) / "receipt.json"))
    except NotFound:
        return None
    return receipt if receipt["job_id"] == record.job_id else None
