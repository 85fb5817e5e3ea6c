"""A batch that can't be moved on waits longer each time, is given up, and holds up no other."""

import threading
import time

import pytest

from jobs.addresses import JobPaths
from jobs.api.batch.faults import MOST_FAULTS, after_fault
from jobs.api.batch.record import Batch, BatchPaths, batch_document, open_root
from jobs.api.batch.work import BatchWork
from jobs.errors import AccessDenied, RowsMissing, StoreUnavailable
from jobs.record import RecordFile
from jobs.states import State
from tests.batch_lines import line


@pytest.fixture
def record(store, bucket):
    return lambda batch_id: batch_document(store, bucket, batch_id).load()


@pytest.fixture
def load_job(store, bucket):
    return lambda job_id: RecordFile(store, JobPaths.of(bucket, job_id)).load()


@pytest.fixture
def broken(monkeypatch):
    """Makes a step of one batch fail."""

    def breaks(batch_id: str, error: Exception, step: str = "_take_in") -> None:
        real = getattr(BatchWork, step)

        def act(work, batch):
            if batch.id == batch_id:
                raise error
            return real(work, batch)

        monkeypatch.setattr(BatchWork, step, act)

    return breaks


class Clock:
    def __init__(self) -> None:
        self.now = time.time()  # the batches are of today

    def __call__(self) -> float:
        return self.now


def test_a_batch_with_a_fault_of_ours_is_failed_in_the_end_and_its_user_is_told(
    store, bucket, settings, batch_of, body, record, broken, client, caplog
):
    bad, clock = batch_of(line("a", body())), Clock()
    broken(bad, ZeroDivisionError("/secret/path"))
    work, waits = BatchWork(store, settings, clock=clock), []
    while not record(bad).ended:
        work.round()
        waits.append(record(bad).not_before - clock.now)
        clock.now = max(clock.now, record(bad).not_before)
    assert len(waits) == MOST_FAULTS
    assert waits[:4] == [5, 10, 20, 40]
    shown = client.get(f"/v1/batches/{bad}").json()
    [error] = shown["errors"]["data"]
    assert (shown["status"], error["code"]) == ("failed", "internal_error")
    assert error["message"].startswith(f"Given up after {MOST_FAULTS} tries: ")
    assert "secret" not in error["message"]
    assert list(store.list(open_root(bucket))) == []


def test_while_it_waits_nothing_is_tried_and_others_go_on(
    store, settings, batch_of, body, record, broken, caplog
):
    bad, clock = batch_of(line("a", body())), Clock()
    broken(bad, RuntimeError("no"))
    good = batch_of(line("b", body()))
    work = BatchWork(store, settings, clock=clock)
    for _ in range(5):
        work.round()
    assert record(bad).faults == 1
    assert record(good).status == "in_progress"


@pytest.mark.parametrize("error", [StoreUnavailable("away"), AccessDenied("expired")])
def test_a_store_that_is_away_is_nobodys_fault(
    store, settings, batch_of, body, record, broken, error
):
    batch_id = batch_of(line("a", body()))
    broken(batch_id, error)
    work = BatchWork(store, settings)
    for _ in range(MOST_FAULTS + 1):
        work.round()
    assert (record(batch_id).status, record(batch_id).faults) == ("validating", 0)


def test_a_step_that_is_through_forgets_the_faults_before_it(
    store, settings, batch_of, body, record, broken, monkeypatch, caplog
):
    batch_id, clock = batch_of(line("a", body())), Clock()
    broken(batch_id, RuntimeError("no"))
    BatchWork(store, settings, clock=clock).round()
    assert record(batch_id).faults == 1
    monkeypatch.undo()
    monkeypatch.setattr("jobs.schema.lint._by_compiler", lambda schema: ())
    clock.now += 5
    BatchWork(store, settings, clock=clock).round()
    assert (record(batch_id).status, record(batch_id).faults) == ("in_progress", 0)


def test_the_jobs_of_a_batch_that_is_given_up_are_cancelled(
    store, bucket, settings, batch_of, body, record, broken, load_job, caplog
):
    batch_id, clock = batch_of(line("a", body())), Clock()
    work = BatchWork(store, settings, clock=clock)
    work.round()
    broken(batch_id, RuntimeError("no"), "_watch")
    for _ in range(MOST_FAULTS):
        work.round()
        clock.now += 600
    [group] = record(batch_id).groups
    assert record(batch_id).status == "failed"
    assert load_job(group.job_id).state is State.CANCELLED


def test_our_own_errors_are_told_as_they_are():
    batch = Batch(
        id="batch_1", endpoint="e", input_file_id="f", completion_window="24h", at={}, faults=7
    )
    [told] = after_fault(batch, RowsMissing("3 rows are missing"), 5.0).errors
    assert told.message == "Given up after 8 tries: 3 rows are missing"


def test_a_batch_that_takes_long_holds_up_no_other(
    store, bucket, settings, batch_of, body, record, monkeypatch
):
    long, begun, go_on = batch_of(line("a", body())), threading.Event(), threading.Event()
    real = BatchWork._take_in

    def slow(work, batch):
        if batch.id == long:
            begun.set()
            assert go_on.wait(60)
        return real(work, batch)

    monkeypatch.setattr(BatchWork, "_take_in", slow)
    work = BatchWork(store, settings, patience_s=0.01)
    try:
        work.round()
        assert begun.wait(60)
        other = batch_of(line("b", body()))
        while record(other).status == "validating":
            work.round()
        assert record(long).status == "validating"
    finally:
        go_on.set()
        work.close()
    assert record(long).status == "in_progress"


def test_a_batch_of_a_newer_version_is_left_alone(
    store, bucket, batch_of, body, work, record, client, caplog
):
    batch_id = batch_of(line("a", body()))
    address = BatchPaths(bucket, batch_id).record
    theirs = store.read(address).replace(b'"validating"', b'"thinking"')
    store.write(address, theirs)
    work.round()
    work.round()
    assert store.read(address) == theirs
    assert len([each for each in caplog.messages if "newer version" in each]) == 1
    assert client.get("/v1/batches").json()["data"] == []
    answer = client.get(f"/v1/batches/{batch_id}")
    assert answer.status_code == 409
    assert "written by a newer version" in answer.json()["error"]["message"]
