"""The controller's idle clock: its own figures where there are some, and few requests."""

from decimal import Decimal

import pytest

from infra.clusters.base import NodeInterval
from jobs.addresses import JobPaths
from jobs.cluster_record import ClusterRecord
from jobs.cost.bill import bill_of
from jobs.errors import StoreUnavailable
from jobs.history import remember
from jobs.policy.clock import IdleClock
from jobs.record import OfferSnapshot, Record, RecordFile
from jobs.states import State
from jobs.totals import Totals
from tests.made_entries import node_entry

LOCAL = OfferSnapshot(
    name="local",
    usd_per_hour=Decimal(1),
    billing_granularity_s=1,
    minimum_s=0,
    catalogue_date="today",
)


def cluster(tenant, created_at=0.0):
    return ClusterRecord(
        cluster_id="zs-1",
        provider="local",
        state="up",
        owner="me",
        created_at=created_at,
        lease_until=0.0,
        offer=LOCAL,
        tenant=tenant,
    )


@pytest.fixture
def job(store, bucket):
    """Writes a job's record, and what it measured where `start_s` is given."""

    def write(job_id, at, start_s=None):
        record = Record(
            job_id=job_id,
            created_at=at,
            output="s3://b/o/",
            state=State.COMPLETED,
            model="a/m",
            offer=LOCAL,
        )
        RecordFile(store, JobPaths.of(bucket, job_id)).create(record)
        if start_s is not None:
            node = NodeInterval("n", at, at + 99)
            bill = bill_of([node_entry(record, node, at + start_s, at + 60, at + 99)])
            remember(store, bucket, record, Totals(9, 9, 0, {}, 900, 0, 100), bill, at + 99)
        return job_id

    return write


@pytest.fixture
def clock(store, make_settings):
    return IdleClock(store, make_settings(idle_window_s="auto"))


def test_a_number_is_always_waited(store, make_settings):
    clock = IdleClock(store, make_settings(idle_window_s=7.5))
    decided = clock.window(100.0, cluster("nobody"), [])
    assert (decided.window_s, decided.reason) == (7.5, "set by idle_window_s")


def test_before_anything_is_measured_break_even_rests_on_what_is_assumed(clock, job):
    clock.job_ended(cluster(job("j", 0.0)), 0.0, 50.0)
    decided = clock.window(50.0, cluster("j"), [])
    assert decided.window_s == 40.0
    assert "1 job tells too little" in decided.reason


def test_a_measured_start_is_what_a_restart_costs(clock, job):
    clock.job_ended(cluster(job("j", 0.0, start_s=33.0)), 0.0, 50.0)
    assert clock.window(50.0, cluster("j"), []).window_s == 33.0 + 20.0


def test_jobs_that_come_far_apart_teach_the_controller_not_to_wait(clock, job):
    for number in range(30):
        at = 4000.0 * number
        here = cluster(job(f"j{number}", at), created_at=at)
        clock.job_ended(here, at, at + 60)
        decided = clock.window(at + 60, here, [])
    assert decided.window_s == 0
    assert decided.reason.startswith("learned from 30 jobs")


def test_jobs_of_an_earlier_controller_are_learned_from(clock, job):
    for number in range(10):
        job(f"old{number}", 4000.0 * number, start_s=30.0)
    clock.job_ended(cluster(job("j", 50_000.0), 50_000.0), 50_000.0, 50_060.0)
    assert "11 jobs" in clock.window(50_060.0, cluster("j"), []).reason


def test_the_decision_stands_until_another_job_has_ended(clock, job, store, monkeypatch):
    here = cluster(job("j", 0.0))
    clock.job_ended(here, 0.0, 50.0)
    first = clock.window(50.0, here, [])
    monkeypatch.setattr(store, "list", None)  # any request would fail
    monkeypatch.setattr(store, "read_tagged", None)
    assert clock.window(50.0, here, []) is first


def test_what_is_known_is_not_read_again(clock, job, store, monkeypatch):
    for number in range(5):
        job(f"old{number}", 4000.0 * number, start_s=30.0)
    clock.job_ended(cluster(job("one", 30_000.0)), 30_000.0, 30_050.0)
    clock.window(30_050.0, cluster("one"), [])
    read, seen = store.read_tagged, []
    monkeypatch.setattr(store, "read_tagged", lambda each: seen.append(each.key) or read(each))
    clock.job_ended(cluster(job("two", 40_000.0)), 40_000.0, 40_050.0)
    clock.window(40_050.0, cluster("two"), [])
    assert {key.split("/")[2] for key in seen} == {"two"}


def test_a_bucket_that_is_away_costs_precision_and_nothing_else(clock, job, store, monkeypatch):
    def away(*_):
        raise StoreUnavailable("the bucket is away")

    clock.job_ended(cluster(job("j", 0.0)), 0.0, 50.0)
    monkeypatch.setattr(store, "list", away)
    decided = clock.window(50.0, cluster("j"), [NodeInterval("n", 0.0, None)])
    assert decided.window_s == 40.0
    assert decided.reason.startswith("break-even")
