"""Whatever befalls a job on its way, receipt, ledger and the cloud's own meter say the same.

A way is what happens to one claim of the job after the other; the last one works. Answers to writes
get lost, and each cluster's books are closed once more than is needed.
"""

import time
from collections import defaultdict
from dataclasses import asdict
from decimal import Decimal

import pytest
from botocore.exceptions import ConnectionClosedError
from hypothesis import HealthCheck, example, given
from hypothesis import settings as bounded
from hypothesis import strategies as st

from infra.errors import NoCapacity
from jobs.addresses import JobPaths
from jobs.clusters.estate import settle
from jobs.clusters.fleet import cluster_records
from jobs.control.controller import Controller
from jobs.control.resume import resume
from jobs.control.setbacks import HANDED_BACK
from jobs.cost.ledger import entries
from jobs.cost.receipt import receipt_of
from jobs.cost.verify import verify
from jobs.record import RecordFile
from jobs.settings.groups import OwnOffer
from jobs.states import State
from jobs.store.memory import MemoryClient, MemoryStore
from jobs.store.patience import Patience
from jobs.submit.submission import load_manifest, submit
from tests.fake_cloud_meter import FakeCloudMeter, Tariff, in_billionths

SPARE = OwnOffer(
    provider="local",
    instance="spare",
    name="spare",
    usd_per_hour=Decimal("7201.3"),
    granularity_s=1,
    minimum_s=3,
)
TINY, PLENTY = Decimal("0.000001"), Decimal(10**6)
LOST_EVERY = 7  # writes


class Lossy(MemoryClient):
    """Some answers to writes never come, though the writes took effect."""

    writes = 0

    def put_object(self, **more):
        answer = super().put_object(**more)
        self.writes += 1
        if self.writes % LOST_EVERY == 0:
            raise ConnectionClosedError(endpoint_url="memory")
        return answer


@pytest.fixture
def server():
    return MemoryStore(Lossy(), Patience(32, sleep=lambda s: None))


class Road:
    """The way of one job: what its clusters and workers do, claim by claim."""

    def __init__(self, store, workshop, way):
        self.store, self.workshop, self.way, self.make = store, workshop, list(way), workshop.make
        self.claims = set()

    def made(self, provider, spec, folder):
        cluster = self.make(provider, spec, folder)
        if self.way[:1] == ["full"]:
            self.way.pop(0)
            cluster.up = lambda: self.refuse(cluster)
        return cluster

    def refuse(self, cluster):
        cluster._add_node()  # what did come is returned, and billed
        time.sleep(0.005)
        raise NoCapacity("no_capacity: the zone is full")

    def work(self, paths, epoch):
        time.sleep(0.005)
        self.claims.add(epoch)
        what = self.way.pop(0) if self.way else "works"
        if self.way[:1] == ["over"] and what != "over":
            self.give(paths, TINY)
        if what == "notice":
            self.workshop.made[-1].preempt()
            return HANDED_BACK
        if what == "over":  # by its budget, which it was given before
            self.workshop.stopped.wait(20)
            self.workshop.stopped.clear()
            return 143
        if what == "dies late":
            self.workshop.work_shards(paths, epoch, [0])
        return None if what == "works" else 137

    def give(self, paths, usd):
        file = RecordFile(self.store, paths)
        file.change(lambda old: old.model_copy(update={"max_usd": usd}))


@pytest.fixture
def travel(store, bucket, make_settings, make_manifest, put_pictures, workshop, monkeypatch):
    """Sends a job of its own down a way; answers its record at the end, and its claims that had
    a worker."""
    for wait in ("way_back.capacity_s", "way_back.wait_s", "run.notice_s"):
        monkeypatch.setattr(f"jobs.control.{wait}", lambda before: 0.0)
    put_pictures(4)
    most = {"max_setbacks": 20, "max_preemptions": 20, "max_no_capacity_s": 600}
    settings = make_settings("3600", offers=(SPARE,), shard_size=2, idle_window_s=5, **most)
    make = workshop.make

    def go(way):
        road = Road(store, workshop, way)
        road.make, workshop.make, workshop.before = make, road.made, road.work
        name = f"job-{len(workshop.made)}-{time.monotonic_ns()}"
        manifest = make_manifest(
            name="job",
            idempotency_key=name,
            output=f"s3://{bucket}/{name}/",
            hardware={"offer": ["local", "spare"]},
            budget={"max_usd": str(PLENTY)},
        )
        job_id = submit(store, settings, manifest).record.job_id
        paths = JobPaths.of(bucket, job_id)
        if road.way[:1] == ["over"]:
            road.give(paths, TINY)
        for _ in range(len(way) + 2):
            Controller(store, settings, "fake", make=workshop.make).once()
            record = RecordFile(store, paths).load()
            if record.state is not State.OVER_BUDGET:
                return record, road.claims
            again = road.way[:1] == ["over"]
            usd = max(record.cost_usd, record.max_usd) + (TINY if again else PLENTY)
            resume(store, settings, job_id, load_manifest(store, paths), usd, time.time())
        raise AssertionError(f"{job_id} does not come to an end: {record}")

    return go


@given(st.lists(st.sampled_from(["dies", "dies late", "notice", "full", "over"]), max_size=4))
@example(["full", "dies late", "notice", "over"])
@example(["over", "over", "full"])
@bounded(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_receipt_ledger_and_meter_say_the_same_whatever_befell_the_job(store, bucket, travel, way):
    record, claims = travel(way)
    assert record.state is State.COMPLETED, record.reason
    booked = list(entries(store, bucket))
    for cluster in cluster_records(store, bucket):
        settle(store, bucket, cluster, time.time())
    assert list(entries(store, bucket)) == booked  # once more changes nothing
    assert list(verify(store, bucket)) == []
    mine = sum(each.amount or 0 for each in booked if each.job_id == record.job_id)
    assert claims <= {each.epoch for each in booked if each.job_id == record.job_id}
    receipt = receipt_of(store, record)
    assert receipt["bill"]["final"]
    assert Decimal(receipt["bill"]["total_usd"]) == mine == record.cost_usd
    assert metered(store, bucket) == by_cluster(booked)


def metered(store, bucket):
    """Billionths of a USD of each cluster, by a meter at its own price."""
    found = {}
    for cluster in cluster_records(store, bucket):
        assert cluster.gone_at is not None
        meter = FakeCloudMeter(Tariff.of(cluster.offer.model_dump(mode="json")))
        meter.feed(map(asdict, cluster.nodes))
        found[cluster.cluster_id] = meter.total()
    return found


def by_cluster(booked):
    sums = defaultdict(int)
    for entry in booked:
        if entry.kind == "node":
            sums[entry.cluster_id] += in_billionths(entry.amount)
    return dict(sums)
