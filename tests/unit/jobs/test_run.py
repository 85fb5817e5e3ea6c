"""A whole job against a fake cluster: every row, the receipt, the ledger, and every way to end."""

import json
import math
from decimal import Decimal

from jobs.addresses import Address, clusters_root
from jobs.closing.results import rows_of
from jobs.clusters.fleet import cluster_records
from jobs.cost.ledger import entries
from jobs.cost.meter import in_seconds, to_ms
from jobs.queue import queued
from jobs.states import State


def test_a_job_runs_from_its_request_to_its_receipt(
    store, bucket, controller, submitted, put_pictures, load, receipt
):
    put_pictures(20)
    job = submitted(labels={"line": "4"})
    controller().once()
    record, paper = load(job), receipt(job)
    assert (record.state, record.reason, record.shards) == (State.COMPLETED, "", 3)
    assert list(record.entered) == [
        "planning",
        "provisioning",
        "running",
        "finalizing",
        "completed",
    ]
    assert record.counts.model_dump() == {"total": 20, "done": 20, "errors": 0}
    assert (paper["images"], paper["ok"], paper["labels"]) == (20, 20, {"line": "4"})
    assert paper["bill"]["final"]
    assert paper["teardown"]["checked"] == "no process is left"
    assert Decimal(paper["bill"]["total_usd"]) == record.cost_usd > 0
    assert queued(store, bucket) == []
    owner = json.loads(store.read(Address.parse(job.output) / "_SUCCESS"))
    assert owner == {"job_id": job.job_id}


def test_two_files_that_are_no_pictures_are_rows_with_errors(
    store, controller, submitted, put_pictures, load, receipt
):
    put_pictures(5, broken=2)
    job = submitted()
    controller().once()
    rows = [json.loads(line) for line in rows_of(store, Address.parse(job.output))]
    failed = [row for row in rows if row["status"] == "error"]
    assert len(rows) == 7
    assert {row["error"]["stage"] for row in failed} == {"decode"}
    assert load(job).state is State.COMPLETED_WITH_ERRORS
    assert load(job).reason == "2 of 7 pictures failed"
    assert receipt(job)["errors"] == 2
    assert sum(receipt(job)["error_codes"].values()) == 2


def test_the_ledger_has_one_entry_a_node_with_the_bill_of_the_receipt(
    store, bucket, controller, submitted, put_pictures, receipt
):
    put_pictures(3)
    job = submitted()
    controller().once()
    kept, bill = list(entries(store, bucket)), receipt(job)["bill"]
    [entry] = [each for each in kept if each.kind == "node"]
    assert {each.job_id for each in kept} == {job.job_id}
    assert (entry.amount, entry.seconds) == (
        Decimal(bill["total_usd"]),
        Decimal(bill["billed_s"]),
    )
    assert (entry.epoch, entry.images, entry.ok, entry.setback) == (1, 3, 3, False)
    assert entry.usd["work"] == Decimal(bill["rows_usd"]) > 0
    assert sorted(each.kind for each in kept if each.usd is None) == [
        "egress",
        "requests",
        "requests",
        "storage",
    ]
    assert sorted(words.split(" (")[0] for words in bill["not_priced"]) == [
        "egress",
        "storage",
        "storage requests",
        "storage requests",
    ]


def test_a_second_job_adopts_the_warm_cluster_and_both_bills_sum_to_the_node(
    store, bucket, controller, submitted, put_pictures, receipt, workshop
):
    put_pictures(3)
    jobs = [submitted(name=name) for name in ("one", "two")]
    controller().once()
    [record] = cluster_records(store, bucket)
    [node] = record.nodes
    bills = [receipt(job)["bill"] for job in jobs]
    raw = sum(Decimal(bill["raw_s"]) for bill in bills)
    assert len(workshop.made) == 1
    assert all(bill["final"] for bill in bills)
    assert raw == in_seconds(to_ms(node.gone_at) - to_ms(node.launched_at))
    assert sum(Decimal(bill["billed_s"]) for bill in bills) == math.ceil(raw)
    assert "another job" in receipt(jobs[0])["teardown"]["checked"]


def test_the_intent_is_written_before_a_cluster_is_made(
    store, bucket, controller, submitted, put_pictures, workshop
):
    seen = []
    make = workshop.make

    def look(provider, spec, folder):
        body = store.read(clusters_root(bucket) / f"{spec.cluster_id}.json")
        seen.append(json.loads(body)["state"])
        return make(provider, spec, folder)

    workshop.make = look
    put_pictures(1)
    submitted()
    controller().once()
    assert seen == ["intended"]


def test_the_success_marker_is_written_after_all_that_it_vouches_for(
    store, bucket, controller, submitted, put_pictures, monkeypatch
):
    before = []
    create = store.create

    def watched(address, *rest, **more):
        if address.name == "_SUCCESS":
            before.extend(found.address.name for found in store.list(Address(bucket, "results/")))
        return create(address, *rest, **more)

    monkeypatch.setattr(store, "create", watched)
    put_pictures(2)
    submitted()
    controller().once()
    assert before == ["part-00000.jsonl", "receipt.json", "report.html", "results.parquet"]
