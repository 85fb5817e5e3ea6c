"""A fault of infrastructure costs a job time, not its life, up to a number of them."""

import json

import pytest

from jobs.addresses import Address
from jobs.close import rows_of
from jobs.fleet import cluster_records
from jobs.order import Attempt
from jobs.record import claimed
from jobs.setbacks import LONGEST_WAIT_S, wait_s
from jobs.states import State


@pytest.fixture
def settings(make_settings):
    return make_settings(max_setbacks=2)


@pytest.fixture(autouse=True)
def no_waits(monkeypatch):
    monkeypatch.setattr("jobs.run.wait_s", lambda before: 0.0)


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


def test_each_setback_has_a_cluster_of_its_own_and_all_are_gone(
    store, bucket, controller, submitted, put_pictures, load, workshop
):
    workshop.before = lambda paths, epoch: -9 if epoch < 3 else None
    put_pictures(2)
    job = submitted()
    controller().once()
    assert load(job).state is State.COMPLETED
    records = cluster_records(store, bucket)
    assert len(records) == 3
    assert all(record.gone_at is not None for record in records)


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
