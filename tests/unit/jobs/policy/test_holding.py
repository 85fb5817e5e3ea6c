"""A job that may wait is held for another to share its cold start, and never longer than it may."""

import time

import pytest

from jobs.control.controller import Controller
from jobs.manifest.manifest import job_id
from jobs.states import State


@pytest.fixture
def at(store, settings, workshop):
    """A controller whose clock is so many seconds ahead."""

    def make(ahead_s):
        def clock():
            return time.time() + ahead_s

        return Controller(store, settings, engine="fake", make=workshop.make, clock=clock)

    return make


def test_to_wait_not_at_all_is_the_same_job(make_manifest):
    assert job_id(make_manifest(max_wait_s=0)) == job_id(make_manifest())
    assert job_id(make_manifest(max_wait_s=60)) != job_id(make_manifest())


def test_a_job_alone_is_held_until_its_wait_is_over(at, submitted, put_pictures, load, workshop):
    put_pictures(1)
    job = submitted(max_wait_s=600)
    assert at(0).look() is False
    assert (load(job).state, workshop.made) == (State.QUEUED, [])
    assert at(601).look() is True
    assert load(job).state is State.COMPLETED


def test_two_jobs_that_wait_share_one_cold_start(at, submitted, put_pictures, load, workshop):
    put_pictures(1)
    first = submitted(max_wait_s=600)
    worker = at(0)
    assert worker.look() is False
    second = submitted(max_wait_s=600, name="other")
    assert worker.look() is True
    assert worker.look() is True
    assert {load(each).state for each in (first, second)} == {State.COMPLETED}
    assert len(workshop.made) == 1


def test_a_warm_cluster_takes_a_job_that_could_wait_at_once(at, submitted, put_pictures, load):
    put_pictures(1)
    worker = at(0)
    submitted()
    assert worker.look() is True
    patient = submitted(max_wait_s=600, name="patient")
    assert worker.look() is True
    assert load(patient).state is State.COMPLETED


def test_once_waits_for_a_job_that_is_held(at, submitted, put_pictures, load):
    put_pictures(1)
    job = submitted(max_wait_s=1)
    at(0).once()
    assert load(job).state is State.COMPLETED


def test_once_does_not_leave_a_job_whose_time_came_while_it_looked(
    at, submitted, put_pictures, load, monkeypatch
):
    put_pictures(1)
    job = submitted(max_wait_s=1)
    looks, not_held = [], Controller._not_held

    def late(controller, jobs):
        looks.append(jobs)
        return not_held(controller, jobs) if len(looks) > 1 else []

    monkeypatch.setattr(Controller, "_not_held", late)
    at(60).once()
    assert load(job).state is State.COMPLETED
