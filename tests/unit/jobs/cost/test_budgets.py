"""A budget is kept by looking ahead: what must still be paid is never spent on something else."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cost.budgets import (
    Purse,
    Reserve,
    Verdict,
    judge,
    of_entry,
    of_running,
    period,
    reserve,
)
from jobs.record import Record
from jobs.states import State

KEPT = Reserve(in_flight=Decimal("0.20"), teardown=Decimal("0.05"))


@pytest.mark.parametrize(
    ("cost", "verdict"),
    [
        ("0.74", Verdict.GO_ON),
        ("0.75", Verdict.WIND_DOWN),
        ("0.94", Verdict.WIND_DOWN),
        ("0.95", Verdict.STOP),
        ("2", Verdict.STOP),
    ],
)
def test_work_winds_down_while_what_is_in_flight_can_still_be_paid(cost, verdict):
    found = judge([Purse("budget.max_usd", Decimal(1), own=Decimal(cost))], KEPT)
    assert found.verdict is verdict
    if verdict:
        assert f"cost {Decimal(cost):.6f} USD, budget.max_usd is 1; 0." in found.reason


def test_what_others_spent_counts_and_the_severest_verdict_is_told():
    purses = [
        Purse("line=4 per month", Decimal(10), own=Decimal("0.3"), spent=Decimal("9.5")),
        Purse("all per day", Decimal(100), own=Decimal("0.4"), spent=Decimal("99.8")),
        Purse("all per hour", Decimal(50), own=Decimal("0.4")),
    ]
    found = judge(purses, KEPT)
    assert found.verdict is Verdict.STOP
    assert "cost 0.400000 USD beside 99.800000 of others, all per day is 100" in found.reason


def test_a_soft_purse_stops_nothing_and_is_told_when_it_is_used_up():
    soft = Purse("all per month", Decimal(1), spent=Decimal("0.9"), hard=False)
    assert judge([replace(soft, own=Decimal(5))], KEPT).verdict is Verdict.GO_ON
    assert not replace(soft, own=Decimal("0.09")).used_up
    assert replace(soft, own=Decimal("0.1")).used_up


@given(
    shards=st.decimals(Decimal("0.1"), 12, places=2),
    price=st.decimals(Decimal("0.1"), 100, places=2),
    nodes=st.integers(1, 8),
    shard_s=st.integers(1, 600),
    looks=st.integers(1, 10),
)
def test_a_job_never_costs_more_than_its_budget_and_a_shard(shards, price, nodes, shard_s, looks):
    """Played through, for a budget of so many `shards` on each node: all of equal length, with
    `looks` at each; at the end the cluster idles and drains."""
    kept, rate = reserve(price, nodes, shard_s, idle_s=20.0), price * nodes / 3600
    purse, look = Purse("b", shards * kept.in_flight + kept.teardown), Decimal(shard_s) / looks
    number, verdict, winding = 0, Verdict.GO_ON, False
    while verdict is not Verdict.STOP and not (winding and number % looks == 0):
        number += 1
        verdict = judge([replace(purse, own=rate * number * look)], kept).verdict
        winding = winding or verdict is Verdict.WIND_DOWN
    final = rate * number * look + kept.teardown
    assert final <= purse.usd + rate * look  # what passes between two looks, at most a shard
    assert final >= purse.usd - kept.in_flight - rate * look  # and nothing is left unused


def test_without_a_price_nothing_can_be_kept_back():
    assert reserve(None, 4, 100.0, 20.0) == Reserve()


@pytest.mark.parametrize(
    ("per", "begin", "end"),
    [
        ("hour", 1794312000, 1794315600),
        ("day", 1794268800, 1794355200),
        ("month", 1793491200, 1796083200),
    ],
)
def test_a_period_is_whole_in_utc(noon, per, begin, end):
    assert period(per, noon + 59) == (begin, end)
    assert period(per, end)[0] == end


def test_the_year_ends_with_december():
    assert period("month", 1798761599)[1] == 1798761600  # 2026-12-31 to 2027-01-01


def test_what_was_spent_over_hours_is_not_all_spent_in_the_last(make_entry, noon):
    spent = of_entry(make_entry(seconds=5 * 3600, until=noon + 1800))
    begin, end = period("hour", noon)
    assert spent.within(begin, end) == Decimal("1.8")
    assert spent.within(*period("day", noon)) == spent.usd == 18
    assert spent.within(end, end + 3600) == 0
    assert of_entry(make_entry(price=None)) is None


def running(**changes) -> Record:
    told = {"created_at": 0.0, "output": "s3://b/o/", "model": "m", "labels": {"line": "4"}}
    told |= {"state": State.RUNNING, "owner": "c", "cost_usd": Decimal(2)}
    return Record(job_id="j", entered={"provisioning": 100.0}, **{**told, **changes})


def test_a_running_job_counts_from_when_its_cluster_was_raised():
    spent = of_running(running(), 300.0)
    assert (spent.since, spent.until, spent.usd) == (100.0, 300.0, 2)
    for other in ({"owner": ""}, {"cost_usd": None}, {"state": State.COMPLETED}):
        assert of_running(running(**other), 300.0) is None
