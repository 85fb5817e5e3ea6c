"""A fleet writes its intent first, adopts what is warm, and records what has gone."""

import pytest

from infra.errors import TeardownFailed
from jobs.fleet import Fleet, cluster_records
from jobs.submission import plan_for


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
    assert (record.state, record.checked) == ("failed", "1 processes left")
    assert len(moments) == 1
