"""The books of a job: its tenancies into the ledger, and the receipt that tells what they cost.

A receipt is written when the job closes, again when its node time has ended, and once more when a
claim that had been lost is settled after that.
"""

from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal

from jobs.addresses import Address, JobPaths
from jobs.cluster_record import ClusterRecord
from jobs.cost import ledger
from jobs.cost.account import Tenancy
from jobs.cost.bill import Bill, bill_of
from jobs.cost.entry import Entry
from jobs.cost.receipt import (
    Teardown,
    make_receipt,
    parse_receipt,
    receipt_bill,
    receipt_bytes,
)
from jobs.errors import NotFound
from jobs.record import Record, RecordFile
from jobs.store.bucket import Store
from jobs.store.fence import Fence
from jobs.totals import Totals


def settle_tenancy(
    store: Store, bucket: str, tenancy: Tenancy, cluster: ClusterRecord, until: float
) -> list[Entry]:
    """Write a tenancy's entries; answers those of all the job's claims, as the ledger has them.

    Where the reaper was first, taking us for dead, its entry stands and the bill is made of it.
    """
    ledger.write(store, bucket, tenancy.on(cluster, until))
    record = tenancy.record
    since = min(record.created_at, tenancy.since)
    return list(ledger.entries_of(store, bucket, record.job_id, since, until))


def write_receipt(
    store: Store | Fence,
    record: Record,
    totals: Totals,
    entries: Sequence[Entry],
    rows_usd: Decimal | None,
    cluster: ClusterRecord,
    final: bool,
) -> Bill:
    """Write the receipt over `entries`, all of the job's; answers its bill."""
    bill = receipt_bill(entries, record, totals.rows, rows_usd, final)
    receipt = make_receipt(record, totals, bill, _teardown(cluster, final))
    store.write(Address.parse(record.output) / "receipt.json", receipt_bytes(receipt))
    return bill_of(entries)


def _teardown(cluster: ClusterRecord, final: bool) -> Teardown:
    name = cluster.cluster_id
    if cluster.gone_at is not None:
        return Teardown(cluster_id=name, gone_at=cluster.gone_at, checked=cluster.checked)
    if cluster.checked:  # it was ended, and something stayed
        return Teardown(cluster_id=name, checked=cluster.checked)
    if final:
        return Teardown(cluster_id=name, checked="the cluster went on with another job")
    return Teardown(cluster_id=name)


def amend(store: Store, bucket: str, job_id: str, cluster: ClusterRecord, now: float) -> None:
    """Bring the receipt of a job that has ended up to what the ledger says of it by now."""
    file = RecordFile(store, JobPaths.of(bucket, job_id))
    with suppress(NotFound):
        record = file.load()
        if not record.state.ended:
            return
        where = Address.parse(record.output) / "receipt.json"
        old = parse_receipt(store.read(where))
        if old.job_id != job_id or old.version == 1:
            return
        entries = list(ledger.entries_of(store, bucket, job_id, record.created_at, now))
        last = cluster.cluster_id == old.teardown.cluster_id
        final = old.bill.final or (last and cluster.gone_at is not None)
        bill = receipt_bill(entries, record, old.images, old.bill.rows_usd, final)
        teardown = _teardown(cluster, final) if last else old.teardown
        changes = {"bill": bill, "teardown": teardown}
        store.write(where, receipt_bytes(old.model_copy(update=changes)))
        if bill.total_usd != record.cost_usd:
            file.change(lambda now: now.model_copy(update={"cost_usd": bill.total_usd}))
