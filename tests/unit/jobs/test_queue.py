"""The queue holds what has not ended, the oldest first; controllers that are there say so."""

import json
import threading

import pytest

from jobs.addresses import Address, controllers_root
from jobs.control import presence
from jobs.errors import Conflict, StoreUnavailable
from jobs.lease import Heartbeat
from jobs.queue import all_jobs, dequeue, enqueue, queued


def test_a_queue_is_empty_at_first(store, bucket):
    assert queued(store, bucket) == []


def test_queued_jobs_are_found_until_they_are_dequeued(store, bucket):
    for job in ("b", "a", "a"):
        enqueue(store, bucket, job)
    assert sorted(queued(store, bucket)) == ["a", "b"]
    dequeue(store, bucket, "a")
    dequeue(store, bucket, "a")
    assert queued(store, bucket) == ["b"]


def test_the_oldest_is_first(store, bucket, monkeypatch):
    for job in ("a", "b"):
        enqueue(store, bucket, job)
    found = sorted(store.list(Address(bucket, "")), key=lambda each: each.address)
    older = type(found[1])(found[1].address, 0, "", found[0].modified.replace(year=2020))
    monkeypatch.setattr(store, "list", lambda prefix: iter([found[0], older]))
    assert queued(store, bucket) == ["b", "a"]


def test_all_jobs_are_those_that_ever_were(store, bucket):
    for key in ("zeroshift/jobs/a-1/record.json", "zeroshift/jobs/b-2/record.json"):
        store.write(Address(bucket, key), b"")
    assert list(all_jobs(store, bucket)) == ["a-1", "b-2"]


def test_a_controller_is_present_until_it_leaves(store, bucket):
    presence.announce(store, bucket, "one")
    presence.announce(store, bucket, "two")
    assert presence.present(store, bucket) == ["one", "two"]
    presence.leave(store, bucket, "one")
    assert presence.present(store, bucket) == ["two"]


def test_a_controller_that_died_is_not_present_when_its_lease_has_run_out(store, bucket):
    body = json.dumps({"controller": "dead", "lease_until": 1.0}).encode()
    store.write(controllers_root(bucket) / "dead.json", body)
    assert presence.present(store, bucket) == []


class Beats:
    """Raises its errors one after the other, then counts."""

    def __init__(self, enough, errors=()):
        self.enough, self.errors, self.count = enough, list(errors), 0

    def __call__(self):
        self.count += 1
        if self.errors:
            raise self.errors.pop(0)
        self.enough.set()


@pytest.fixture
def enough():
    return threading.Event()


def test_a_heartbeat_goes_on_after_an_outage(enough):
    beats = Beats(enough, [StoreUnavailable("busy"), StoreUnavailable("busy")])
    with Heartbeat(beats, lease_s=0.04) as heart:
        assert enough.wait(10)
    assert beats.count >= 3
    assert not heart.lost


def test_a_heartbeat_stops_when_the_claim_is_lost(enough):
    beats = Beats(enough, [Conflict("taken")])
    heart = Heartbeat(beats, lease_s=0.04)
    with heart:
        heart._thread.join(10)
    assert heart.lost
    assert beats.count == 1
