"""However a job ends without results, its reason is kept, its bill is made, nothing runs on."""

import json
from decimal import Decimal

import pytest

from jobs.addresses import Address, JobPaths, ledger_root
from jobs.clusters.fleet import cluster_records
from jobs.cost.ledger import entries
from jobs.cost.verify import verify
from jobs.order import Attempt, Marker
from jobs.queue import queued
from jobs.record import RecordFile
from jobs.states import State


def test_a_cluster_that_does_not_start_ends_the_job_with_the_reason(
    store, bucket, controller, submitted, put_pictures, load, workshop
):
    workshop.starts = False
    put_pictures(2)
    job = submitted()
    controller().once()
    [cluster] = cluster_records(store, bucket)
    assert (load(job).state, load(job).reason) == (State.FAILED, "the head did not answer")
    assert (cluster.state, cluster.checked) == ("failed", "no process is left")
    assert cluster.gone_at is not None
    assert queued(store, bucket) == []


def test_a_worker_that_fails_ends_the_job_with_its_own_words(
    store, controller, submitted, put_pictures, load, receipt, workshop
):
    def broken(paths, epoch):
        workshop.report(paths, Attempt(epoch=epoch, error="EngineDead: out of memory"))
        return 1

    workshop.before = broken
    put_pictures(2)
    job = submitted()
    controller().once()
    assert (load(job).state, load(job).reason) == (State.FAILED, "EngineDead: out of memory")
    assert receipt(job)["images"] == 0
    assert receipt(job)["bill"]["final"]
    assert not store.exists(Address.parse(job.output) / "_SUCCESS")


def test_a_worker_that_dies_without_a_word_is_pointed_to_by_its_log(
    controller, submitted, put_pictures, load, workshop
):
    workshop.before = lambda paths, epoch: 137
    put_pictures(2)
    job = submitted()
    controller().once()
    assert "ended with status 137; its log: " in load(job).reason


def test_a_worker_that_leaves_a_shard_out_does_not_complete_the_job(
    store, controller, submitted, put_pictures, load, workshop
):
    workshop.before = lambda paths, epoch: 0
    put_pictures(2)
    job = submitted()
    controller().once()
    assert (load(job).state, load(job).reason) == (
        State.FAILED,
        "1 of 1 shard without rows: [0]",
    )
    assert not store.exists(Address.parse(job.output) / "_SUCCESS")


def test_rows_that_were_tampered_with_fail_the_job_and_are_left_out(
    store, controller, submitted, put_pictures, load, receipt, workshop
):
    def tamper(paths, epoch):
        status = workshop.work_shards(paths, epoch)
        rows = paths.rows / Marker.model_validate_json(store.read(paths.marker_of(1))).file
        store.write(rows, store.read(rows).replace(b"ok", b"OK"))
        return status

    workshop.before = tamper
    put_pictures(20)
    job = submitted()
    controller().once()
    assert load(job).state is State.FAILED
    assert load(job).reason == "shard 1: its rows are not those that were committed"
    assert receipt(job)["images"] == 12
    assert receipt(job)["bill"]["final"]


def test_a_job_that_is_cancelled_while_it_runs_stops_and_is_billed(
    store, bucket, controller, submitted, put_pictures, load, receipt, workshop
):
    def cancel(paths, epoch):
        asked = {"cancel_requested": True}
        RecordFile(store, paths).change(lambda old: old.model_copy(update=asked))
        workshop.stopped.wait(30)
        return 143

    workshop.before = cancel
    put_pictures(2)
    job = submitted()
    controller().once()
    assert (load(job).state, load(job).reason) == (State.CANCELLED, "by the user")
    assert Decimal(receipt(job)["bill"]["total_usd"]) > 0
    assert receipt(job)["state"] == "cancelled"
    assert not workshop.made[0].leftovers()


def test_a_job_that_was_cancelled_before_its_turn_raises_no_cluster(
    store, bucket, controller, submitted, put_pictures, load, workshop
):
    put_pictures(2)
    job = submitted()
    file = RecordFile(store, JobPaths.of(bucket, job.job_id))
    file.change(lambda old: old.model_copy(update={"cancel_requested": True}))
    controller().once()
    assert load(job).state is State.CANCELLED
    assert workshop.made == []


def test_a_job_that_costs_more_than_its_budget_is_stopped(
    controller, make_settings, submitted, put_pictures, load, receipt, workshop
):
    workshop.before = lambda paths, epoch: 143 if workshop.stopped.wait(30) else None
    put_pictures(2)
    job = submitted(budget={"max_usd": 0.5})
    controller(make_settings(usd_per_hour="3600")).once()
    assert load(job).state is State.OVER_BUDGET
    assert "budget.max_usd is 0.5" in load(job).reason
    assert Decimal(receipt(job)["bill"]["total_usd"]) >= 1


@pytest.fixture
def taken_over(store, workshop):
    """Another controller takes the job while the worker is at it."""

    def taken(paths, epoch):
        other = {"owner": "other", "epoch": epoch + 1, "lease_until": 1e12}
        RecordFile(store, paths).change(lambda old: old.model_copy(update=other))
        workshop.stopped.wait(30)
        return 143

    workshop.before = taken


@pytest.mark.usefixtures("taken_over")
def test_a_controller_that_lost_its_claim_stops_and_leaves_the_job_to_the_other(
    store, bucket, controller, submitted, put_pictures, load
):
    put_pictures(2)
    job = submitted()
    controller().once()
    assert (load(job).owner, load(job).state) == ("other", State.RUNNING)
    assert queued(store, bucket) == [job.job_id]
    assert not store.exists(Address.parse(job.output) / "receipt.json")


def test_a_controller_that_is_stopped_hands_its_job_back_and_the_next_one_ends_it(
    store, bucket, controller, submitted, put_pictures, load, workshop, monkeypatch, caplog
):
    caplog.set_level("INFO", "zeroshift")

    def interrupted(watch, limits):
        raise KeyboardInterrupt

    put_pictures(2)
    job = submitted()
    with monkeypatch.context() as patched:
        patched.setattr("jobs.control.watching.Watch.observe", interrupted)
        with pytest.raises(KeyboardInterrupt):
            controller().once()
    assert (load(job).state, load(job).owner) == (State.QUEUED, "")
    assert queued(store, bucket) == [job.job_id]
    assert not workshop.made[0].alive()
    last_words = [f"{job.job_id}: going back to the queue", "the cluster goes down, which takes"]
    assert [each for each in last_words if each not in caplog.text] == []
    controller().once()
    assert (load(job).state, load(job).epoch) == (State.COMPLETED, 2)
    assert load(job).usd_before > 0


@pytest.mark.usefixtures("taken_over")
def test_the_node_time_of_a_job_that_was_lost_to_another_is_in_the_ledger_all_the_same(
    store, bucket, controller, submitted, put_pictures
):
    put_pictures(2)
    job = submitted()
    controller().once()
    [entry] = store.list(ledger_root(bucket))
    assert entry.address.name.startswith(job.job_id)


@pytest.mark.parametrize("twice", [False, True])
def test_a_bug_ends_its_job_and_not_the_controller(
    store, bucket, controller, submitted, put_pictures, load, workshop, monkeypatch, twice
):
    """Let through, it would end every controller that takes the job up."""

    def broken(*_, **__):
        raise ValueError("of ours: {'prompt': 'private'}")

    put_pictures(2)
    worker = controller()
    monkeypatch.setattr("jobs.control.run.JobRun.close", broken)
    if twice:
        monkeypatch.setattr("jobs.control.run.Publishing.publish", broken)
    job = submitted()
    worker.once()
    monkeypatch.undo()
    assert load(job).state is State.FAILED
    assert load(job).reason == "a bug: ValueError; the controller's log says more"
    assert queued(store, bucket) == []
    booked = [each for each in entries(store, bucket) if each.kind == "node"]
    assert job.job_id in {each.job_id for each in booked}
    assert list(verify(store, bucket)) == []
    assert workshop.made[0].nodes()[0].gone_at is not None
    controller().once()  # nothing is left that it could stumble over


def test_an_index_line_with_half_of_a_surrogate_pair_costs_its_own_row_alone(
    store, bucket, controller, submitted, put_pictures, load, receipt
):
    put_pictures(2)
    keys = [f"s3://{bucket}/in/{number:03d}.png" for number in range(2)]
    lines = [{"key": keys[0], "prompt": "half \ud800"}, {"key": keys[1], "prompt": "whole"}]
    store.write(Address(bucket, "list.jsonl"), "\n".join(map(json.dumps, lines)).encode())
    job = submitted(inputs={"index": f"s3://{bucket}/list.jsonl"})
    controller().once()
    assert load(job).state is State.COMPLETED_WITH_ERRORS
    assert receipt(job)["error_codes"] == {"fields_unreadable": 1}
