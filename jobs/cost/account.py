"""Account: the bill of a job from node intervals, its receipt, its ledger entries.

The eighth step of a job's life. Ledger entries are append-only: one object for each job and node,
named after both, so that writing one twice changes nothing.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from infra.clusters.base import NodeInterval
from jobs.addresses import Address, ledger_root
from jobs.bucket import Store
from jobs.close import Totals
from jobs.cost.bill import Bill, Span, make_bill
from jobs.cost.money import Plain
from jobs.cost.receipt import Teardown, make_receipt, receipt_bytes
from jobs.errors import Conflict
from jobs.fence import Fence
from jobs.fleet import ClusterRecord
from jobs.record import OfferSnapshot, Record


class LedgerEntry(BaseModel):
    """`zeroshift/ledger/YYYY/MM/DD/<job>-<node>.json`: a job's billed seconds on one node."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    job_id: str
    cluster_id: str
    node: NodeInterval
    since: float
    until: float
    offer: OfferSnapshot
    billed_s: Plain
    usd: Plain
    seconds: dict[str, Plain]


@dataclass(frozen=True, slots=True)
class Tenancy:
    """A job's time on a cluster: from `since`, with the engine ready and the last row written at
    the moments given (None: never)."""

    record: Record
    since: float
    ready_at: float | None = None
    done_at: float | None = None

    def bill(self, nodes: Sequence[NodeInterval], until: float) -> Bill:
        assert self.record.offer is not None, "a job that was planned has an offer"
        span = Span(self.since, self.ready_at, self.done_at, until)
        return make_bill(nodes, span, self.record.offer)


def write_receipt(
    store: Store | Fence,
    tenancy: Tenancy,
    totals: Totals,
    cluster: ClusterRecord,
    bill: Bill,
    final: bool,
) -> None:
    record = tenancy.record
    receipt = make_receipt(record, totals, bill, cluster.nodes, _teardown(cluster, final), final)
    store.write(Address.parse(record.output) / "receipt.json", receipt_bytes(receipt))


def _teardown(cluster: ClusterRecord, final: bool) -> Teardown:
    name = cluster.cluster_id
    if cluster.gone_at is not None:
        return Teardown(cluster_id=name, gone_at=cluster.gone_at, checked=cluster.checked)
    if cluster.checked:  # it was ended, and something stayed
        return Teardown(cluster_id=name, checked=cluster.checked)
    if final:
        return Teardown(cluster_id=name, checked="the cluster went on with another job")
    return Teardown(cluster_id=name)


def write_ledger(
    store: Store, bucket: str, tenancy: Tenancy, cluster: ClusterRecord, until: float
) -> None:
    """One entry a node; writing one again changes nothing."""
    day = datetime.fromtimestamp(until, UTC).strftime("%Y/%m/%d/")
    for node in cluster.nodes:
        bill = tenancy.bill([node], until)
        if not bill.billed_s:
            continue
        name = f"{tenancy.record.job_id}-{node.node_id}.json"
        entry = _entry(tenancy, cluster, node, bill, until)
        with suppress(Conflict):
            store.create(ledger_root(bucket) / (day + name), entry.model_dump_json().encode())


def _entry(
    tenancy: Tenancy, cluster: ClusterRecord, node: NodeInterval, bill: Bill, until: float
) -> LedgerEntry:
    return LedgerEntry(
        job_id=tenancy.record.job_id,
        cluster_id=cluster.cluster_id,
        node=node,
        since=tenancy.since,
        until=until,
        offer=cluster.offer,
        billed_s=bill.billed_s,
        usd=bill.usd,
        seconds=dict(bill.seconds),
    )
