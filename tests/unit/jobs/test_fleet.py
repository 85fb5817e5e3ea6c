"""A fleet writes its intent first, adopts what is warm, and records what has gone."""

import time
from contextlib import contextmanager

import pytest

from infra.clusters.fake import FakeCluster, FakeSweeper
from infra.errors import NoCapacity, StartFailed, TeardownFailed
from jobs.cluster_record import ClusterFile, fleet_name
from jobs.clusters.fleet import Fleet, cluster_records
from jobs.clusters.reaper import Reaper
from jobs.clusters.starting import Deadlines
from jobs.errors import StoreUnavailable
from jobs.submit.planning import plan_for


@pytest.fixture
def fleet(store, make_settings, workshop):
    return Fleet(store, make_settings(idle_window_s=20), "me", workshop.make)


@pytest.fixture
def plan(settings, make_manifest):
    return plan_for(make_manifest(), settings)


def test_a_cluster_is_idle_only_from_the_end_of_its_job(fleet, plan):
    fleet.acquire(plan, 100.0)
    assert not fleet.idle_too_long(1000.0)
    fleet.release(1000.0)
    assert not fleet.idle_too_long(1019.0)
    assert fleet.idle_too_long(1020.0)


def test_a_warm_cluster_is_adopted_and_the_job_before_is_settled_at_that_moment(
    store, bucket, fleet, plan
):
    moments = []
    first = fleet.acquire(plan, 100.0)
    fleet.settle_with(moments.append)
    fleet.release(110.0)
    assert fleet.acquire(plan, 115.0) is first
    assert (moments, first.since) == ([115.0], 115.0)
    assert len(cluster_records(store, bucket)) == 1


def test_a_job_that_comes_back_to_its_cluster_has_a_tenancy_of_its_own_for_each_claim(fleet, plan):
    moments = []
    first = fleet.acquire(plan, 100.0, tenant="job-1")
    fleet.settle_with(moments.append)
    fleet.release(110.0)
    assert fleet.acquire(plan, 115.0, tenant="job-1") is first
    assert (moments, first.since, first.waits_since) == ([115.0], 115.0, 115.0)


def test_a_job_that_comes_back_to_a_cluster_that_was_taken_away_is_settled(
    store, bucket, fleet, plan
):
    moments = []
    first = fleet.acquire(plan, 100.0, tenant="job-1")
    fleet.settle_with(moments.append)
    ClusterFile.load(store, bucket, first.record.cluster_id).change(owner="a reaper")
    assert fleet.acquire(plan, 115.0, tenant="job-1") is not first
    assert len(moments) == 1


def test_the_driver_of_a_job_that_comes_back_has_all_its_time_to_start(fleet, plan, workshop):
    fleet.deadlines = Deadlines(node_s=10)
    fleet.acquire(plan, 100.0, tenant="job-1")
    fleet.acquire(plan, 500.0, tenant="job-1")
    fleet.check_start(None, 510.0)
    with pytest.raises(StartFailed):
        fleet.check_start(None, 511.0)


def test_a_cluster_at_another_price_is_not_adopted(
    store, bucket, fleet, plan, make_settings, make_manifest
):
    first = fleet.acquire(plan, 100.0)
    dearer = plan_for(make_manifest(), make_settings(usd_per_hour="9"))
    assert fleet.acquire(dearer, 110.0) is not first
    assert sorted(each.state for each in cluster_records(store, bucket)) == ["down", "up"]


def test_a_cluster_that_died_is_not_adopted(fleet, plan, workshop):
    first = fleet.acquire(plan, 100.0)
    workshop.made[0].down()
    assert fleet.acquire(plan, 110.0) is not first


def test_a_rested_cluster_is_recorded_as_gone_and_its_job_settled_once(store, bucket, fleet, plan):
    moments = []
    fleet.acquire(plan, 100.0)
    fleet.settle_with(moments.append)
    fleet.rest()
    fleet.rest()
    [record] = cluster_records(store, bucket)
    assert (record.state, record.checked) == ("down", "no process is left")
    assert moments == [record.gone_at]


def test_a_cluster_rests_although_the_bucket_is_away_and_is_written_down_later(
    store, bucket, fleet, plan, workshop, away
):
    moments = []
    fleet.acquire(plan, 100.0, tenant="job-1")
    fleet.settle_with(moments.append)
    with away():
        fleet.rest()
        assert not workshop.made[0].alive()
        assert fleet.current is None
        fleet._owed._again_at = 0.0
        fleet.catch_up()
    assert (cluster_records(store, bucket)[0].gone_at, moments) == (None, [])
    fleet._owed._again_at = 0.0
    fleet.catch_up()
    [record] = cluster_records(store, bucket)
    assert (record.state, record.checked) == ("down", "no process is left")
    assert moments == [record.gone_at]


def test_a_bill_that_the_bucket_does_not_take_is_tried_again_with_the_same_moment(
    fleet, plan, workshop
):
    moments = []

    def account(moment):
        moments.append(moment)
        if len(moments) == 1:
            raise StoreUnavailable("away")

    fleet.acquire(plan, 100.0)
    fleet.settle_with(account)
    fleet.acquire(plan, 115.0)
    assert moments == [115.0]
    fleet._owed._again_at = 0.0
    fleet.catch_up()
    assert moments == [115.0, 115.0]
    assert len(fleet._owed) == 0


def test_what_a_reaper_wrote_of_a_cluster_meanwhile_holds(
    store, bucket, fleet, plan, workshop, away
):
    moments = []
    raised = fleet.acquire(plan, 100.0, tenant="job-1")
    workshop.made[0]._add_node()
    fleet.settle_with(moments.append)
    with away():
        fleet.rest()
    sweeper = FakeSweeper(workshop.made)
    clock = lambda: time.time() + 1000  # noqa: E731
    [reaped] = Reaper(store, bucket, "reaper-1", lambda _: sweeper, clock).reap()
    [record] = cluster_records(store, bucket)
    fleet._owed._again_at = 0.0
    fleet.catch_up()
    assert reaped.outcome == "ended"
    assert cluster_records(store, bucket) == [record]
    assert raised.record == record
    assert moments == [record.nodes[0].gone_at]


@pytest.fixture
def away(store, monkeypatch):
    """Within it the bucket takes no write."""

    @contextmanager
    def outage():
        def refuse(*arguments, **more):
            raise StoreUnavailable("the bucket is away")

        with monkeypatch.context() as patched:
            for name in ("create", "replace", "write"):
                patched.setattr(store, name, refuse)
            yield

    return outage


def test_a_teardown_that_leaves_something_is_recorded_and_raised(
    store, bucket, fleet, plan, workshop, monkeypatch
):
    def stuck():
        raise TeardownFailed("the head still runs")

    moments = []
    fleet.acquire(plan, 100.0)
    fleet.settle_with(moments.append)
    monkeypatch.setattr(workshop.made[0], "down", stuck)
    with pytest.raises(TeardownFailed):
        fleet.rest()
    [record] = cluster_records(store, bucket)
    assert (record.state, record.checked) == ("failed", "1 process left")
    assert len(moments) == 1


def test_the_intent_is_in_the_bucket_before_anything_is_created(
    store, bucket, fleet, plan, monkeypatch
):
    seen = []
    monkeypatch.setattr(
        FakeCluster, "up", lambda cluster: seen.extend(cluster_records(store, bucket))
    )
    fleet.acquire(plan, 100.0, tenant="job-1")
    [intent] = seen
    assert (intent.state, intent.lease_until, intent.tenant) == ("intended", 160.0, "job-1")


def test_a_cluster_carries_the_lease_the_lifetime_and_the_fleet_of_its_settings(
    store, bucket, make_settings, workshop, plan
):
    settings = make_settings(cluster_lease_s=7, cluster_lifetime_s=70)
    Fleet(store, settings, "me", workshop.make).acquire(plan, 100.0)
    spec = workshop.made[0].spec
    assert (spec.lease_s, spec.lifetime_s) == (7, 70)
    assert spec.fleet == fleet_name(store, bucket)


@pytest.fixture
def renewals(monkeypatch):
    """The leases that clusters were given, in the order of time."""
    seen = []
    monkeypatch.setattr(FakeCluster, "renew", lambda cluster, lease_s: seen.append(lease_s))
    return seen


def test_a_renewal_reaches_the_bucket_and_then_the_cluster(store, bucket, fleet, plan, renewals):
    fleet.acquire(plan, 100.0)
    fleet.renew(110.0)
    assert cluster_records(store, bucket)[0].lease_until == 170.0
    assert renewals == [60.0]


def test_a_cluster_is_not_renewed_when_the_bucket_is_away(fleet, plan, renewals, monkeypatch):
    raised = fleet.acquire(plan, 100.0)

    def away(**changes):
        raise StoreUnavailable("no answer")

    monkeypatch.setattr(raised.file, "change", away)
    with pytest.raises(StoreUnavailable):
        fleet.renew(110.0)
    assert renewals == []


def test_a_cluster_that_was_taken_from_us_is_not_renewed_nor_adopted_and_goes_at_once(
    store, bucket, fleet, plan, renewals
):
    raised = fleet.acquire(plan, 100.0)
    ClusterFile.load(store, bucket, raised.record.cluster_id).change(owner="a reaper")
    fleet.renew(110.0)
    assert renewals == []
    fleet.release(111.0)
    assert fleet.idle_too_long(111.0)
    assert fleet.acquire(plan, 112.0) is not raised


def test_a_lost_answer_to_our_own_write_is_no_conflict(store, bucket, fleet, plan, renewals):
    raised = fleet.acquire(plan, 100.0)
    stale = raised.file._etag
    fleet.renew(110.0)
    raised.file._etag = stale  # as if the answer had not arrived, and the write were tried again
    fleet.renew(110.0)
    assert renewals == [60.0, 60.0]


def test_a_cluster_past_half_of_its_lifetime_takes_no_new_job(store, make_settings, workshop, plan):
    fleet = Fleet(store, make_settings(cluster_lifetime_s=100), "me", workshop.make)
    first = fleet.acquire(plan, 100.0)
    fleet.release(120.0)
    assert fleet.acquire(plan, 149.0) is first
    fleet.release(150.0)
    assert fleet.acquire(plan, 150.0) is not first


def test_a_cluster_whose_nodes_are_held_goes_down_all_the_same(
    store, bucket, fleet, plan, workshop, monkeypatch, tmp_path
):
    monkeypatch.setattr("jobs.clusters.fleet.NODES_GONE_S", 0.05)
    raised = fleet.acquire(plan, 100.0)
    workshop.made[0]._held = True
    workshop.made[0]._add_node()
    fleet.release(110.0)
    assert raised.cluster.nodes()[0].gone_at is None
    assert fleet.idle_too_long(130.0)
    fleet.rest()
    [record] = cluster_records(store, bucket)
    assert (record.state, record.checked) == ("down", "no process is left")
    assert record.nodes[0].gone_at is not None


def test_a_cluster_that_ended_itself_is_recorded_with_its_reason(
    store, bucket, fleet, plan, workshop
):
    fleet.acquire(plan, 100.0)
    workshop.made[0]._until = 0.0
    fleet.rest()
    [record] = cluster_records(store, bucket)
    assert record.state == "failed"
    assert record.checked == "no process is left; it ended itself: its lease was not renewed"


def test_without_capacity_the_cluster_is_returned_at_once(store, bucket, fleet, plan, workshop):
    raised = fleet.acquire(plan, 100.0)
    workshop.made[0]._capacity = 0
    workshop.made[0]._add_node()
    with pytest.raises(NoCapacity, match="phase node: no_capacity: all 0 nodes are taken"):
        fleet.check_start(None, 101.0)
    fleet.release(101.0)
    assert fleet.idle_too_long(101.0)
    fleet.rest()
    assert raised.cluster.leftovers() == []


def test_a_start_that_does_not_end_is_an_error_and_one_that_did_is_not(fleet, plan):
    fleet.deadlines = Deadlines(node_s=10)
    fleet.acquire(plan, 100.0)
    fleet.check_start(None, 110.0)
    fleet.check_start(105.0, 999.0)
    with pytest.raises(StartFailed, match="phase node: no node came within 10 s"):
        fleet.check_start(None, 111.0)


def test_a_drain_is_covered_by_a_last_lease(store, bucket, fleet, plan, renewals):
    fleet.acquire(plan, 100.0)
    fleet.rest()
    assert renewals == [60.0 + 30.0 + 60.0]


def test_nodes_whose_head_has_died_are_not_kept_for_the_idle_window(
    store, bucket, fleet, plan, workshop
):
    fleet.acquire(plan, 100.0)
    workshop.made[0]._add_node()
    workshop.made[0]._alive = False
    fleet.release(110.0)
    assert fleet.idle_too_long(110.0)
    fleet.rest()
    [record] = cluster_records(store, bucket)
    assert (len(record.nodes), record.checked) == (1, "no process is left")
    assert record.nodes[0].gone_at is not None
