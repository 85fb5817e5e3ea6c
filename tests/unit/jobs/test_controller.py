"""A controller claims what is free, takes over what was left behind, and stops when told to."""

import threading

import pytest

from infra.clusters.fake import FakeCluster, FakeSweeper
from jobs.addresses import Address, JobPaths
from jobs.cluster_record import cluster_records
from jobs.clusters.fleet import Fleet
from jobs.control import presence
from jobs.control.controller import Controller
from jobs.errors import StoreUnavailable
from jobs.queue import enqueue, queued
from jobs.record import RecordFile
from jobs.settings.groups import Inbox
from jobs.states import State
from jobs.submit.planning import plan_for
from jobs.submit.submission import submit


@pytest.fixture
def submitted(store, settings, make_manifest, put_pictures):
    put_pictures(1)
    return lambda **changes: submit(store, settings, make_manifest(**changes)).record


@pytest.fixture
def file(store, bucket):
    return lambda record: RecordFile(store, JobPaths.of(bucket, record.job_id))


def claim_for(file, owner, until, state=State.QUEUED):
    change = {"owner": owner, "epoch": 1, "lease_until": until, "state": state}
    return file.change(lambda old: old.model_copy(update=change))


def test_with_nothing_to_do_no_cluster_is_raised(store, bucket, controller, workshop):
    assert controller().look() is False
    assert workshop.made == []


def test_a_controller_is_present_while_it_works_and_no_longer(
    store, bucket, controller, submitted, workshop
):
    seen = []
    workshop.before = lambda paths, epoch: seen.extend(presence.present(store, bucket))
    submitted()
    worker = controller()
    worker.once()
    assert seen == [worker.name]
    assert presence.present(store, bucket) == []


def test_a_job_under_another_controllers_lease_is_left_alone(controller, submitted, file):
    job = submitted()
    claim_for(file(job), "other", 1e12)
    assert controller().run(job.job_id) is None
    assert file(job).load().owner == "other"


@pytest.mark.parametrize("state", [State.PLANNING, State.RUNNING, State.FINALIZING])
def test_a_job_whose_controller_died_is_taken_over_under_the_next_epoch(
    controller, submitted, file, state
):
    job = submitted()
    claim_for(file(job), "dead", 1.0, state)
    worker = controller()
    ended = worker.run(job.job_id)
    worker.leave()
    assert (ended.state, ended.epoch) == (State.COMPLETED, 2)


def test_a_job_that_was_taken_over_keeps_the_inputs_it_was_pinned_with(
    store, controller, submitted, file, put_pictures, workshop
):
    def die(paths, epoch):
        if epoch > 1:
            return None
        put_pictures(9)  # arrives after the batch was pinned
        claim_for(RecordFile(store, paths), "dead", 1.0, State.RUNNING)
        RecordFile(store, paths).change(lambda old: old.model_copy(update={"epoch": 2}))
        return 1

    workshop.before = die
    job = submitted()
    worker = controller()
    assert worker.run(job.job_id) is None
    assert worker.run(job.job_id).counts.total == 1
    worker.leave()


def test_a_job_that_has_ended_is_taken_off_the_queue(store, bucket, controller, submitted, file):
    job = submitted()
    file(job).change(lambda old: old.moved(State.CANCELLED, 1.0))
    assert controller().look() is False
    assert queued(store, bucket) == []


def test_a_queue_entry_whose_record_is_on_its_way_is_passed_over(
    store, bucket, controller, submitted, file
):
    enqueue(store, bucket, "half-written")
    job = submitted()
    controller().once()
    assert file(job).load().state is State.COMPLETED
    assert queued(store, bucket) == ["half-written"]


def test_a_batch_that_closes_becomes_a_job_and_is_worked(
    store, bucket, controller, make_settings, model, put_pictures
):
    put_pictures(2, prefix="inbox/line-4/")
    store.write(Address(bucket, "inbox/line-4/_SUCCESS"), b"")
    controller(make_settings(inbox=Inbox(prefix="inbox/", model=model))).once()
    assert store.exists(Address(bucket, "results/line-4/_SUCCESS"))


def test_a_batch_that_can_not_become_a_job_does_not_stop_the_controller(
    store, bucket, controller, make_settings, model, submitted, file
):
    store.write(Address(bucket, "inbox/empty/_SUCCESS"), b"")
    job = submitted()
    controller(make_settings(inbox=Inbox(prefix="inbox/", model=model))).once()
    assert file(job).load().state is State.COMPLETED


def test_the_watch_ends_when_it_is_told_to_and_leaves_nothing(
    store, bucket, controller, submitted, file, workshop
):
    stop = threading.Event()
    workshop.before = lambda paths, epoch: stop.set()
    job = submitted()
    controller().watch(stop)
    assert file(job).load().state is State.COMPLETED
    assert not workshop.made[0].alive()
    assert presence.present(store, bucket) == []


def test_a_beat_of_the_job_renews_its_cluster_too(
    controller, make_settings, submitted, workshop, monkeypatch
):
    """`submit-job --wait` runs a job without any other heartbeat."""
    renewed = threading.Event()
    monkeypatch.setattr(FakeCluster, "renew", lambda cluster, lease_s: renewed.set(), raising=True)
    workshop.before = lambda paths, epoch: None if renewed.wait(20) else 1
    worker = controller(make_settings(cluster_lease_s=8))
    assert worker.run(submitted().job_id).state is State.COMPLETED
    worker.leave()


def test_a_controller_reaps_what_a_dead_one_left_when_it_starts(
    store, bucket, settings, make_manifest, workshop
):
    fleet = Fleet(store, settings, "dead", workshop.make)
    fleet.acquire(plan_for(make_manifest(), settings), 1000.0)
    Controller(
        store, settings, "fake", make=workshop.make, sweeper=lambda _: FakeSweeper(workshop.made)
    ).once()
    [record] = cluster_records(store, bucket)
    assert not workshop.made[0].alive()
    assert record.checked.startswith("reaped at ")


def test_a_controller_that_takes_a_job_over_ends_the_cluster_it_was_on(
    store, bucket, settings, make_manifest, workshop, submitted, file
):
    job = submitted()
    left = Fleet(store, settings, "dead", workshop.make).acquire(
        plan_for(make_manifest(), settings), 1000.0, job.job_id
    )
    claim_for(file(job), "dead", 1.0, State.RUNNING)
    cluster = {"cluster_id": left.record.cluster_id}
    file(job).change(lambda old: old.model_copy(update=cluster))
    worker = Controller(
        store, settings, "fake", make=workshop.make, sweeper=lambda _: FakeSweeper(workshop.made)
    )
    assert worker.run(job.job_id).state is State.COMPLETED
    worker.leave()
    records = {each.cluster_id: each for each in cluster_records(store, bucket)}
    assert len(records) == 2
    assert records[left.record.cluster_id].checked.startswith("reaped at ")


def test_a_store_that_is_away_while_a_cluster_rests_does_not_end_the_controller(
    controller, submitted, make_settings, monkeypatch
):
    stop, turns = threading.Event(), []

    def rest(fleet, failed=False):
        turns.append("rest")
        if len(turns) == 1:
            raise StoreUnavailable("the bucket is away")
        fleet.current = None
        stop.set()

    worker = controller(make_settings(idle_window_s=0))
    job = submitted()
    worker.run(job.job_id)
    monkeypatch.setattr(Fleet, "rest", rest)
    worker.watch(stop)
    assert turns[:2] == ["rest", "rest"]
