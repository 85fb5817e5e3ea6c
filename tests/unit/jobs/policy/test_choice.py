"""Spot or on demand, big or small, now or later: the cheapest that ends in time, and why."""

from decimal import Decimal

import pytest

from infra.catalogue.offers import Offer
from infra.planner.duration import Duration
from infra.planner.money import Range
from jobs.policy.choice import Way, choose
from jobs.policy.preemption import Seen, likely_most


def offer(name="small", usd="4", spot="2", step=1):
    return Offer(
        name=name,
        provider="p",
        cpus=8,
        max_nodes=8,
        usd_per_hour=None if usd is None else Decimal(usd),
        spot_usd_per_hour=Decimal(spot),
        granularity_s=step,
        minimum_s=0,
        dated="2026-11-30",
    )


def took(work_s, start_s=300.0):
    start, rest = Range(start_s, start_s, start_s), Range(0, 0, 0)
    return Duration(start, Range(work_s, work_s, work_s), rest, "measured")


def way(name="a", work_s=3600.0, offer=offer(), nodes=1, **more):  # noqa: B008 - never changed
    return Way(name, offer, nodes, took(work_s), **more)


def test_spot_is_taken_where_its_preemptions_cost_less_than_it_saves():
    steady, spot = way("steady"), way("spot", spot=True)
    first, second = choose([steady, spot])
    assert (first.way, second.way) == (spot, steady)
    assert "the cheapest that is in time" in first.reason
    assert "0.100 preemptions a node-hour" in first.reason
    assert second.reason.startswith("dearer by ")


def test_spot_that_is_taken_away_all_the_time_is_dearer_than_on_demand():
    spot = way("spot", spot=True, shard_s=1800.0, seen=Seen(taken=400, node_hours=90.0))
    assert choose([spot, way("steady")])[0].way.name == "steady"


def test_a_deadline_that_a_preemption_would_break_is_not_trusted_to_spot():
    steady, spot = way("steady"), way("spot", spot=True, seen=Seen(5, 20.0))
    first, second = choose([spot, steady], deadline_s=4000.0)
    assert first.way is steady
    assert second.reason.startswith("too late: ends within")


def test_one_node_now_or_two_later():
    one, two = way("one", 7200.0), way("two", 3600.0, nodes=2, later_s=600.0)
    assert choose([one, two])[0].way is one  # one start instead of two
    assert choose([one, two], deadline_s=5000.0)[0].way is two


def test_a_small_node_for_a_small_job_and_a_big_one_for_a_big_job():
    big = offer("big", usd="7")
    small_job = [way("small", 100.0), way("big", 50.0, big)]
    big_job = [way("small", 7200.0), way("big", 3600.0, big)]
    assert choose(small_job)[0].way.name == "small"
    assert choose(big_job)[0].way.name == "big"


def test_a_meter_by_the_hour_decides_too():
    hourly = offer("hourly", usd="3", step=3600)
    assert choose([way("hourly", 4000.0, hourly), way("exact", 4000.0)])[0].way.name == "exact"


def test_where_nothing_is_in_time_the_soonest_is_first_and_says_so():
    first, _ = choose([way("slow", 9000.0), way("quick", 5000.0)], deadline_s=60.0)
    assert first.way.name == "quick"
    assert first.reason.startswith("the soonest, though too late")


def test_an_unknown_price_is_never_cheap():
    unknown = way("unknown", 1.0, offer("unknown", usd=None))
    first, second = choose([unknown, way()])
    assert first.way.name == "a"
    assert second.reason.startswith("price is unknown")
    assert choose([unknown])[0].reason.startswith("price is unknown")


def test_of_nothing_nothing_is_chosen():
    assert choose([]) == ()


def test_a_rate_of_preemptions_is_the_priors_until_it_is_seen():
    assert Seen().per_hour == 0.1
    assert Seen(0, 990.0).per_hour == 0.001
    assert Seen(100, 90.0).per_hour == pytest.approx(1.01)


@pytest.mark.parametrize(("mean", "most"), [(0.0, 0), (0.05, 0), (0.1, 1), (1.0, 3), (5.0, 9)])
def test_the_likely_most_of_so_many_expected(mean, most):
    assert likely_most(mean) == most


def test_a_huge_mean_is_no_trouble():
    assert 1000 < likely_most(1000.0) < 1100
