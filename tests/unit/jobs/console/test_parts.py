"""What pages bring in again and again costs the store no more for many pages than for one."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from jobs.addresses import JobPaths
from jobs.api.shelf import LISTED_S, Shelf
from jobs.console.parts import Parts
from jobs.queue import dequeue, enqueue
from jobs.record import Record, RecordFile
from jobs.states import State


@pytest.fixture
def add(store, bucket):
    def make(number: int, state: State = State.RUNNING) -> RecordFile:
        job_id = f"j-{number:012x}"
        file = RecordFile(store, JobPaths.of(bucket, job_id))
        file.create(
            Record(
                job_id=job_id, created_at=float(number), output="s3://b/o/", model="m", state=state
            )
        )
        if not state.ended:
            enqueue(store, bucket, job_id)
        return file

    return make


def asked_for(store, call) -> int:
    """Requests to the store that `call` costs."""
    store.requests.take()
    call()
    told = store.requests.take()
    return told.get("reads", 0) + told.get("writes", 0)


@pytest.mark.parametrize(
    "path", ["/live/jobs", "/live/clusters", "/live/schedules", "/live/jobs/j-000000000001"]
)
def test_many_open_pages_read_no_more_than_one(app, local, store, add, path):
    for number in range(3):
        add(number)
    local.get(path)  # whatever is asked for once in a process

    def open_pages(count: int) -> None:
        app.state.parts = Parts(60.0)
        app.state.context.shelf._poll_s = 0.0  # what is shared is the part itself
        for _ in range(count):
            assert local.get(path).status_code == 200

    alone = asked_for(store, lambda: open_pages(1))
    assert alone > 0
    assert asked_for(store, lambda: open_pages(20)) == alone


def test_pages_that_show_other_jobs_share_one_reading(store, bucket, add):
    now = [1000.0]
    shelf = Shelf(store, bucket, 1.0, lambda: now[0])
    for number in range(5):
        add(number)
    assert asked_for(store, shelf.glance) > 5
    assert asked_for(store, lambda: [shelf.glance() for _ in range(50)]) == 0
    now[0] += 2
    assert asked_for(store, shelf.glance) == 6  # the queue, and what has not ended


def test_a_glance_tells_new_ended_and_resumed_jobs_without_a_listing_of_all(store, bucket, add):
    now = [1000.0]
    shelf = Shelf(store, bucket, 1.0, lambda: now[0])
    file = add(1)
    for number in range(10, 40):
        add(number, State.COMPLETED)
    assert len(shelf.glance()) == 31

    def states() -> dict[str, State]:
        now[0] += 2
        return {each.job_id: each.state for each in shelf.glance() if each.created_at < 10}

    add(2)
    assert states() == {"j-000000000001": State.RUNNING, "j-000000000002": State.RUNNING}
    file.change(lambda old: old.model_copy(update={"state": State.OVER_BUDGET}))
    dequeue(store, bucket, "j-000000000001")
    assert states()["j-000000000001"] is State.OVER_BUDGET
    assert asked_for(store, states) == 2  # the queue and the one that runs
    file.change(lambda old: old.model_copy(update={"state": State.QUEUED}))
    enqueue(store, bucket, "j-000000000001")
    assert states()["j-000000000001"] is State.QUEUED
    add(3, State.FAILED)  # came and went between two looks
    assert "j-000000000003" not in states()
    now[0] += LISTED_S
    assert states()["j-000000000003"] is State.FAILED


def test_who_has_the_newest_already_is_not_sent_it_again(local, add):
    add(1)
    first = local.get("/live/jobs")
    tag = first.headers["etag"]
    again = local.get("/live/jobs", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    add(2)
    fresh = local.get("/live/jobs?show=active", headers={"If-None-Match": tag})
    assert fresh.status_code == 200
    assert fresh.headers["etag"] != tag


def test_who_may_not_submit_gets_no_part_of_who_may(signed_in, add):
    add(1)
    path = "/live/jobs/j-000000000001"
    assert "data-open" in signed_in("read", "submit").get(path).text
    assert "data-open" not in signed_in("read").get(path).text


def test_those_who_ask_at_once_wait_for_one_making():
    parts, made, go = Parts(60.0), [], threading.Event()

    def make() -> str:
        made.append(1)
        go.wait(10)
        return "x"

    with ThreadPoolExecutor(8) as askers:
        asked = [askers.submit(parts.get, ("/", True), make) for _ in range(8)]
        go.set()
        assert {each.result(10) for each in asked} == {"x"}
    assert made == [1]


def test_what_could_not_be_made_is_tried_again():
    def fail() -> str:
        raise OSError(5, "away")

    parts = Parts(60.0)
    with pytest.raises(OSError, match="away"):
        parts.get(("/", True), fail)
    assert parts.get(("/", True), lambda: "x") == "x"
