"""What must hold after a fault: in the results, in the books, and on the machine."""

import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from decimal import Decimal
from typing import Any

import pyarrow.parquet as pq

from jobs.addresses import Address, JobPaths
from jobs.cost.entry import Entry
from jobs.cost.ledger import entries
from jobs.cost.verify import verify
from jobs.order import Marker
from jobs.record import Record
from jobs.store.bucket import Store
from tests.chaos.lab import BROKEN, BUCKET, PICTURES, Lab, input_address
from tests.fake_cloud_meter import CENT, FakeCloudMeter, Tariff, in_billionths

EXPECTED = sorted(str(input_address(number)) for number in range(PICTURES))
WRONG = sorted(str(input_address(number)) for number in BROKEN)


def markers(store: Store, job_id: str) -> list[Marker]:
    found = store.list(JobPaths.of(BUCKET, job_id).markers)
    return [Marker.model_validate_json(store.read(each.address)) for each in found]


def done_again(store: Store, job_id: str) -> int:
    """Shards that were worked to the end and do not count: rows files that no marker names."""
    named = {marker.file for marker in markers(store, job_id)}
    rows = store.list(JobPaths.of(BUCKET, job_id).rows)
    return sum(each.address.name not in named for each in rows)


def asked_again(lab: Lab, job_id: str) -> int:
    """Questions beyond the first about each picture; those of the grammar's sample aside."""
    places = Counter(
        question.split(".")[0] for question in lab.asked(job_id) if question.count("/") == 3
    )
    return sum(places.values()) - len(places)


def results_problems(store: Store, record: Record) -> Iterator[str]:
    """Rows are inputs, none twice, no good picture failed, and the success marker vouches."""
    if record.state.value != "completed_with_errors":
        yield f"it ended as {record.state}: {record.reason[:300]}"
        return
    output = Address.parse(record.output)
    lines = [
        json.loads(line)
        for part in store.list(output / "part-")
        for line in store.read(part.address).splitlines()
    ]
    if (keys := sorted(line["key"] for line in lines)) != EXPECTED:
        yield f"{len(keys)} rows of {len(set(keys))} inputs in the parts"
    if (failed := sorted(line["key"] for line in lines if line["status"] == "error")) != WRONG:
        codes = Counter(line["error"]["code"] for line in lines if line["error"])
        yield f"{len(failed)} rows failed, not {len(WRONG)}: {dict(codes)}"
    table = pq.read_table(io.BytesIO(store.read(output / "results.parquet")), columns=["key"])
    if sorted(table["key"].to_pylist()) != EXPECTED:
        yield f"{table.num_rows} rows in the Parquet file"
    if json.loads(store.read(output / "_SUCCESS")) != {"job_id": record.job_id}:
        yield "the success marker names another job"
    yield from _receipt_problems(json.loads(store.read(output / "receipt.json")))


def _receipt_problems(receipt: dict[str, Any]) -> Iterator[str]:
    bill = receipt["bill"]
    if Decimal(bill["rows_usd"]) + Decimal(bill["overhead_usd"]) != Decimal(bill["total_usd"]):
        yield "rows and overhead do not sum to the bill"
    if sum(Decimal(p["seconds"]) for p in bill["phases"]) != Decimal(bill["billed_s"]):
        yield "phases do not sum to the billed seconds"
    if sum(Decimal(p["usd"]) for p in bill["phases"]) != Decimal(bill["total_usd"]):
        yield "phases do not sum to the bill"
    if receipt["images"] != PICTURES:
        yield f"the receipt has {receipt['images']} pictures"


def ledger(store: Store) -> list[Entry]:
    return list(entries(store, BUCKET))


def books_problems(lab: Lab) -> Iterator[str]:
    """When all clusters are gone: every node's billed seconds are in the ledger, once, every bill
    can be computed again, and a cloud with a meter of its own comes to the same amount."""
    kept = defaultdict(list)
    for entry in ledger(lab.store):
        if entry.kind == "node" and entry.node is not None:
            kept[entry.node.node_id].append(entry)
    yield from verify(lab.store, BUCKET)
    for cluster in lab.clusters():
        if cluster.gone_at is None:
            yield f"{cluster.cluster_id}: not gone: {cluster.state} {cluster.checked}"
        cloud = FakeCloudMeter(Tariff.of(cluster.offer.model_dump(mode="json")))
        cloud.feed(asdict(node) for node in cluster.nodes)
        for node in cluster.nodes:
            if node.gone_at is None:
                yield f"{node.node_id}: no end in the record"
                continue
            mine = kept.pop(node.node_id, [])
            found = sum((entry.seconds for entry in mine), Decimal(0))
            whole = Decimal(cloud.billed_ms(node.node_id)) / 1000
            if found != whole:
                yield f"{node.node_id}: {found} s in the ledger, {whole} s ran ({cluster.checked})"
            usd = sum((entry.amount or Decimal(0) for entry in mine), Decimal(0))
            if abs(in_billionths(usd) - cloud.billionths(node.node_id)) >= CENT:
                yield f"{node.node_id}: {usd} USD in the ledger, its cloud charges otherwise"
    yield from (f"{node_id}: in the ledger alone" for node_id in kept)


def final_problems(lab: Lab, job_id: str) -> Iterator[str]:
    """The final bill of a job is what the ledger has of it, on all its clusters."""
    record = lab.record(job_id)
    if not record.state.succeeded:
        return
    receipt = json.loads(lab.store.read(Address.parse(record.output) / "receipt.json"))
    yield from _receipt_problems(receipt)
    if not receipt["bill"]["final"]:
        yield "its bill is not final"
    mine = [entry for entry in ledger(lab.store) if entry.job_id == job_id]
    found = sum((entry.seconds for entry in mine if entry.kind == "node"), Decimal(0))
    if found != Decimal(receipt["bill"]["billed_s"]):
        yield f"the receipt bills {receipt['bill']['billed_s']} s, the ledger {found} s"
