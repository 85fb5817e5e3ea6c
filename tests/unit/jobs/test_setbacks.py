"""A fault of infrastructure costs a job time, not its life, up to a number of them."""

import json
from decimal import Decimal

import pytest

from jobs.addresses import Address, JobPaths
from jobs.cli.submit import _claim_and_run
from jobs.closing.results import rows_of
from jobs.clusters.fleet import cluster_records
from jobs.control.controller import Controller
from jobs.control.setbacks import HANDED_BACK, LONGEST_NOTICE_S, LONGEST_WAIT_S, notice_s, wait_s
from jobs.cost.ledger import entries
from jobs.cost.meter import in_seconds, to_ms
from jobs.order import Attempt
from jobs.record import RecordFile, claimed
from jobs.settings.settings import load_settings
from jobs.states import State


@pytest.fixture
def settings(make_settings):
    return make_settings(max_setbacks=2)


@pytest.fixture(autouse=True)
def no_waits(monkeypatch):
    monkeypatch.setattr("jobs.control.way_back.wait_s", lambda before: 0.0)
    monkeypatch.setattr("jobs.control.run.notice_s", lambda before: 0.0)


def keys_of(store, job) -> list[str]:
    return sorted(json.loads(line)["key"] for line in rows_of(store, Address.parse(job.output)))


def test_a_driver_that_is_killed_is_followed_by_another_that_goes_on(
    store, controller, submitted, put_pictures, load, workshop
):
    def killed_once(paths, epoch):
        if epoch == 1:
            workshop.work_shards(paths, epoch)
            store.delete(paths.marker_of(0))
            return -9
        return None

    workshop.before = killed_once
    put_pictures(10)
    job = submitted()
    controller().once()
    ended = load(job)
    assert ended.state is State.COMPLETED
    assert len(ended.setbacks) == 1
    assert "status -9" in ended.setbacks[0]
    assert len(keys_of(store, job)) == len(set(keys_of(store, job))) == 10


def test_a_driver_that_dies_leaves_its_sound_cluster_to_the_next_one_at_once(
    store, bucket, controller, submitted, put_pictures, load, receipt, workshop, monkeypatch
):
    monkeypatch.setattr(
        "jobs.control.way_back.wait_s", lambda before: 1e6
    )  # would be waited for in vain
    workshop.before = lambda paths, epoch: -9 if epoch == 1 else None
    put_pictures(2)
    job = submitted()
    controller().once()
    ended, bill = load(job), receipt(job)["bill"]
    assert (ended.state, ended.epoch, len(ended.setbacks)) == (State.COMPLETED, 2, 1)
    [cluster] = cluster_records(store, bucket)
    [node] = cluster.nodes
    assert cluster.gone_at is not None
    assert Decimal(bill["raw_s"]) == node_seconds(node)
    kept = [each for each in entries(store, bucket) if each.kind == "node"]
    assert [(each.epoch, each.setback) for each in kept] == [(1, True), (2, False)]
    assert sum(each.amount for each in kept) == Decimal(bill["total_usd"])
    assert [stay["setback"] for stay in bill["stays"]] == [True, False]
    assert (bill["setbacks"], Decimal(bill["setback_usd"])) == (1, kept[0].amount)


def node_seconds(node) -> Decimal:
    return in_seconds(to_ms(node.gone_at) - to_ms(node.launched_at))


def test_a_second_death_on_one_cluster_takes_it_down(
    store, bucket, controller, submitted, put_pictures, load, workshop
):
    workshop.before = lambda paths, epoch: -9 if epoch < 3 else None
    put_pictures(2)
    job = submitted()
    controller().once()
    assert (load(job).state, load(job).epoch) == (State.COMPLETED, 3)
    records = cluster_records(store, bucket)
    assert len(records) == 2
    assert all(record.gone_at is not None for record in records)


def test_a_driver_that_died_with_its_head_is_followed_on_another_cluster(
    store, bucket, controller, submitted, put_pictures, load, workshop
):
    def dies_with_its_head(paths, epoch):
        if epoch > 1:
            return None
        workshop.made[0]._alive = False
        return -9

    workshop.before = dies_with_its_head
    put_pictures(2)
    job = submitted()
    controller().once()
    assert load(job).state is State.COMPLETED
    assert len(cluster_records(store, bucket)) == 2


def test_a_driver_that_died_before_any_engine_answered_takes_its_cluster_along(
    store, bucket, controller, submitted, put_pictures, load, workshop
):
    work = workshop.work

    def dies_early(arguments, environment):
        return -9 if arguments[3] == "1" else work(arguments, environment)

    workshop.work = dies_early
    put_pictures(2)
    job = submitted()
    controller().once()
    assert load(job).state is State.COMPLETED
    assert len(cluster_records(store, bucket)) == 2


def test_shards_handed_back_after_a_notice_are_no_setback(
    make_settings, store, bucket, controller, submitted, put_pictures, load, workshop
):
    workshop.before = lambda paths, epoch: HANDED_BACK if epoch < 4 else None
    put_pictures(2)
    job = submitted()
    controller(make_settings(max_setbacks=0)).once()
    ended = load(job)
    assert (ended.state, ended.setbacks, ended.preemptions) == (State.COMPLETED, (), 3)
    assert len(cluster_records(store, bucket)) == 1


def test_notices_without_an_end_do_end_the_job(
    make_settings, controller, submitted, put_pictures, load, workshop
):
    workshop.before = lambda paths, epoch: HANDED_BACK
    put_pictures(2)
    job = submitted()
    controller(make_settings(max_preemptions=2)).once()
    ended = load(job)
    assert (ended.state, ended.preemptions) == (State.FAILED, 2)
    assert ended.reason == "preempted: nodes were taken away more than 2 times"


def test_a_job_that_is_waited_for_is_seen_through_its_setbacks(
    here, store, bucket, put_pictures, submitted, load, workshop, monkeypatch
):
    monkeypatch.setenv("ZEROSHIFT_MAX_SETBACKS", "3")
    workshop.before = lambda paths, epoch: -9 if epoch < 3 else None
    put_pictures(2)
    job = submitted()
    worker = Controller(store, load_settings(), "fake", make=workshop.make)
    file = RecordFile(store, JobPaths.of(bucket, job.job_id))
    _claim_and_run(worker, file, job.job_id)
    worker.leave()
    assert (load(job).state, len(load(job).setbacks)) == (State.COMPLETED, 2)


def test_too_many_setbacks_end_the_job_and_all_are_told(
    controller, submitted, put_pictures, load, workshop
):
    workshop.before = lambda paths, epoch: -9
    put_pictures(2)
    job = submitted()
    controller().once()
    ended = load(job)
    assert ended.state is State.FAILED
    assert "after 2 setbacks: " in ended.reason
    assert len(ended.setbacks) == 2


def test_a_cluster_that_does_not_start_is_tried_again(
    controller, submitted, put_pictures, load, workshop
):
    workshop.starts = False
    put_pictures(2)
    job = submitted()
    controller().once()
    assert load(job).setbacks == ("the head did not answer", "the head did not answer")
    assert load(job).state is State.FAILED


def test_what_a_worker_says_is_wrong_is_no_setback(
    controller, submitted, put_pictures, load, workshop
):
    def wrong(paths, epoch):
        workshop.report(paths, Attempt(epoch=epoch, error="ShardFailed: unknown family"))
        return 1

    workshop.before = wrong
    put_pictures(2)
    job = submitted()
    controller().once()
    assert (load(job).state, load(job).setbacks) == (State.FAILED, ())


def test_a_stall_is_a_setback_that_keeps_the_end_of_the_log(
    make_settings, store, controller, submitted, put_pictures, load, workshop
):
    def stalls_once(paths, epoch):
        return 0 if epoch == 1 and workshop.stopped.wait(30) else None

    workshop.before = stalls_once
    put_pictures(2)
    job = submitted()
    controller(make_settings(max_setbacks=1, stall_s=0.05)).once()
    ended = load(job)
    [setback] = ended.setbacks
    assert "no shard was committed for 0.05 s" in setback
    assert store.exists(Address.parse(setback.rpartition(" ")[2]))


def test_a_job_that_was_set_back_is_not_claimed_before_its_time(submitted, put_pictures):
    put_pictures(1)
    waiting = submitted().model_copy(update={"not_before": 100.0})
    assert claimed(waiting, "c", 99.0, 30.0) == waiting
    assert claimed(waiting, "c", 100.0, 30.0).owner == "c"


def test_waits_grow_and_have_an_end():
    waits = [wait_s(before) for before in range(9)]
    assert waits[:3] == [5.0, 20.0, 80.0]
    assert waits == sorted(waits)
    assert waits[-1] == LONGEST_WAIT_S
    assert [notice_s(before) for before in (0, 1, 99)] == [5.0, 10.0, LONGEST_NOTICE_S]
