"""Every billed second is somebody's, of one class, and nobody pays one twice."""

from collections import Counter
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.clusters.base import NodeInterval
from jobs.cost.account import Tenancy, running_usd
from jobs.cost.attribution import Tenant, attribute
from jobs.cost.bill import bill_of
from jobs.cost.entry import CLASSES, Cuts, NodeTimes
from jobs.cost.meter import Meter, in_seconds, to_ms
from jobs.cost.shares import in_quanta, in_usd
from jobs.cost.told import Ending, Told
from jobs.cost.verify import problems
from jobs.order import Attempt, Marker, Turn
from tests.cost_histories import (
    BEGAN,
    histories,
    intervals,
    moments,
    offer,
    offers,
    record,
    stretches,
)
from tests.fake_cloud_meter import FakeCloudMeter, Tariff, in_billionths

MANY = settings(max_examples=150, deadline=None)


def at(seconds: float) -> float:
    return BEGAN + seconds


def node(launched: float = 0, gone: float | None = 100, **more) -> NodeTimes:
    return NodeTimes(
        node_id="n",
        launched_at=at(launched),
        gone_at=None if gone is None else at(gone),
        **more,
    )


def cuts(**changes) -> Cuts:
    usual = {"loading_at": at(10), "ready_at": at(20), "done_at": at(80), "drain_at": at(90)}
    return Cuts(**{**usual, **changes})


def one(times: NodeTimes, since: float, until: float, told: Cuts, price=None):
    [share] = attribute(times, price or offer(), [Tenant(at(since), at(until), told)])
    return share


def test_a_tenancy_passes_through_its_classes_as_worked_out_by_hand():
    told = cuts(work=((at(25), at(45)), (at(50), at(70))), wasted=((at(40), at(50)),))
    share = one(node(), 0, 100, told)
    assert share.raw_s == share.billed_s
    assert share.billed_s == {
        "startup": 10,
        "model_load": 10,
        "work": 40,
        "input_wait": 15,
        "wasted": 5,
        "idle": 10,
        "teardown": 10,
    }
    assert share.usd["work"] == Decimal("0.04")
    assert sum(share.usd.values()) == Decimal("0.1")


def test_an_attempt_that_fails_is_charged_and_told_as_waste():
    # 120 s of an attempt that failed, then 60 s of one that counted: 180 s, not 60 and not 300.
    told = Told(
        Attempt(epoch=1, ready_at=at(0)),
        (marker(0, 120, 180, attempt=2),),
        (Turn(shard=0, epoch=1, attempt=1, node="n", began_at=at(0), busy=((at(0), at(120)),)),),
    )
    [entry] = stay(told, until=180).entries([interval(0, 180)], at(180))
    assert entry.billed_s == {"work": 60, "wasted": 120}
    assert entry.amount == Decimal("0.18")


def test_a_replica_that_never_committed_tells_when_it_loaded_all_the_same():
    turn = Turn(
        shard=0,
        epoch=1,
        attempt=1,
        node="n",
        began_at=at(50),
        loading_at=at(10),
        ready_at=at(40),
    )
    back = stay(Told(Attempt(epoch=1, ready_at=at(60)), (), (turn,)), done_at=at(90), setback=True)
    [entry] = back.entries([interval(0, 100)], at(100))
    assert entry.billed_s == {"startup": 10, "model_load": 30, "wasted": 50, "idle": 10}


def test_a_replica_that_died_wasted_the_time_until_its_shard_was_taken_up_again():
    told = Told(
        Attempt(epoch=1, ready_at=at(0)),
        (marker(0, 70, 100, attempt=2),),
        (Turn(shard=0, epoch=1, attempt=1, node="n", began_at=at(10)),),
    )
    [entry] = stay(told, until=100).entries([interval(0, 100)], at(100))
    assert entry.billed_s == {"input_wait": 10, "wasted": 60, "work": 30}


def test_what_was_done_since_the_last_commit_is_lost_with_a_setback():
    told = Told(Attempt(epoch=1, ready_at=at(0)), (marker(0, 0, 40),))
    back = stay(told, done_at=at(100), setback=True)
    [entry] = back.entries([interval(0, 110)], at(110))
    assert entry.billed_s == {"work": 40, "wasted": 60, "idle": 10}
    assert entry.setback


def test_a_node_that_its_provider_takes_away_loses_what_it_did_not_commit():
    told = Told(Attempt(epoch=1, ready_at=at(0)), (marker(0, 0, 40),))
    taken = NodeInterval("n", at(0), at(70), at(0), at(60), True)
    [entry] = stay(told, done_at=at(200)).entries([taken], at(200))
    assert entry.billed_s == {"work": 40, "wasted": 20, "teardown": 10}
    assert (entry.preempted, entry.setback) == (True, True)


def test_a_job_whose_engine_never_answered_pays_startup_alone():
    assert one(node(gone=None), 0, 30, Cuts()).billed_s == {"startup": 30}


def test_a_node_that_was_gone_before_the_job_costs_it_nothing():
    assert one(node(0, 10), 20, 30, Cuts(), offer(minimum_s=600)).billed_s == {}


def test_a_job_that_never_got_a_node_has_no_entries_and_costs_nothing():
    entries = stay(Told(), until=9).entries([], at(9))
    assert (entries, bill_of(entries).usd) == ([], 0)


def test_a_worker_whose_clock_is_minutes_behind_is_shifted_and_flagged():
    told = Told(
        Attempt(epoch=1, ready_at=at(0 - 300)),
        (marker(0, 20 - 300, 60 - 300),),
        skews={"n": -300.0, "": -300.0},
    )
    [entry] = stay(told, until=80).entries([interval(0, 80)], at(80))
    assert entry.billed_s == {"input_wait": 20, "work": 40, "idle": 20}
    assert entry.skew_s == -300


def test_two_jobs_at_a_time_share_a_node_by_their_engines_busy_seconds():
    mine = Cuts(ready_at=at(0), work=((at(0), at(30)),))
    other = Cuts(ready_at=at(0), work=((at(10), at(20)),))
    shares = attribute(
        node(), offer(), [Tenant(at(0), at(100), mine), Tenant(at(0), at(100), other)]
    )
    assert [sum(share.billed_s.values()) for share in shares] == [75, 25]


@pytest.mark.parametrize(
    ("price", "ran_s", "billed_s"),
    [
        (offer(step_s=1, minimum_s=60), 5, 60),
        (offer(step_s=60), 61, 120),
        (offer(step_s=3600), 1, 3600),
        (offer(step_s=None), 3601, 7200),
        (offer(minimum_s=None), 5, 5),
    ],
)
def test_a_node_is_billed_by_its_providers_rules(price, ran_s, billed_s):
    share = one(node(0, ran_s), 0, ran_s, Cuts(), price)
    assert share.billed_s == {"startup": billed_s}
    assert share.raw_s == {"startup": ran_s}


@pytest.mark.parametrize(("boot_billed", "billed_s"), [(True, 100), (None, 100), (False, 60)])
def test_booting_is_billed_unless_it_is_known_not_to_be(boot_billed, billed_s):
    times = node(joined_at=at(40))
    share = one(times, 0, 100, Cuts(), offer(boot_billed=boot_billed))
    assert sum(share.billed_s.values()) == billed_s
    assert sum(share.raw_s.values()) == 100


def test_a_node_that_never_joined_costs_nothing_where_booting_is_free():
    assert one(node(), 0, 100, Cuts(), offer(boot_billed=False)).billed_s == {}


def test_work_that_may_wait_costs_what_the_discount_leaves():
    share = one(node(), 0, 100, Cuts(), offer(discount="0.5"))
    assert share.usd == {"startup": Decimal("0.05")}


def test_an_unknown_price_is_no_price():
    share = one(node(), 0, 100, Cuts(), offer(None))
    assert share.usd is None
    assert share.billed_s == {"startup": 100}
    assert running_usd([interval(0, 9)], offer(None), at(0), at(5)) is None


def test_a_coarse_meter_weighs_on_every_class_alike():
    share = one(node(), 0, 100, cuts(work=((at(20), at(60)),)), offer(step_s=3600))
    assert share.billed_s["work"] == 3600 * Decimal(40) / 80
    assert "idle" not in share.billed_s


# Invariants, over random histories.


@MANY
@given(histories())
def test_jobs_and_nobody_sum_to_the_nodes_to_the_last_digit(history):
    entries = history.entries()
    for each in history.nodes:
        mine = [entry for entry in entries if entry.node.node_id == each.node_id]
        meter, end = Meter(NodeTimes.of(each), history.offer), to_ms(each.gone_at)
        assert sum(entry.seconds for entry in mine) == in_seconds(meter.ms(end))
        assert sum(entry.amount for entry in mine) == in_usd(meter.quanta(end))
        assert sum(sum(e.raw_s.values()) for e in mine) == in_seconds(end - to_ms(each.launched_at))


@MANY
@given(histories())
def test_no_second_and_no_amount_is_negative_and_classes_are_all(history):
    for entry in history.entries():
        amounts = [*entry.raw_s.values(), *entry.billed_s.values(), *entry.usd.values()]
        assert min(amounts, default=0) >= 0
        assert {*entry.raw_s, *entry.billed_s, *entry.usd} <= set(CLASSES)
        assert len(entry.cuts.work) <= 64
        assert len(entry.cuts.wasted) <= 64


@MANY
@given(histories())
def test_a_history_is_verified_and_a_cloud_with_its_own_meter_agrees(history):
    entries = history.entries()
    assert list(problems(entries)) == []
    cloud = FakeCloudMeter(Tariff.of(history.offer.model_dump(mode="json")))
    cloud.feed(NodeTimes.of(each).model_dump() for each in history.nodes)
    for each in history.nodes:
        mine = [entry for entry in entries if entry.node.node_id == each.node_id]
        usd = sum((entry.amount for entry in mine), Decimal(0))
        assert abs(in_billionths(usd) - cloud.billionths(each.node_id)) <= 1


@MANY
@given(intervals(), st.lists(st.tuples(moments, moments, stretches), max_size=4), offers)
def test_tenancies_that_overlap_share_each_second_once(times, stays, price):
    tenants = [
        Tenant(min(a, b), max(a, b), Cuts(ready_at=min(a, b), work=tuple(busy)))
        for a, b, busy in stays
    ]
    whole = Tenant(times.launched_at, times.gone_at, Cuts(ready_at=times.launched_at))
    shares = attribute(NodeTimes.of(times), price, [*tenants, whole])
    meter, end = Meter(NodeTimes.of(times), price), to_ms(times.gone_at)
    totals = Counter()
    for share in shares:
        totals["billed"] += sum(share.billed.values())
        totals["raw"] += sum(share.raw.values())
        totals["quanta"] += sum(share.quanta.values())
        assert min([*share.billed.values(), *share.quanta.values()], default=0) >= 0
    assert totals["billed"] == meter.ms(end)
    assert totals["quanta"] == meter.quanta(end)
    assert totals["raw"] == end - to_ms(times.launched_at)


@given(moments, moments, moments, offers)
def test_what_rows_were_charged_does_not_change_while_the_cluster_idles(ready, done, until, price):
    times = NodeTimes(node_id="n", launched_at=BEGAN)
    end = max(ready, done, until)
    told = Cuts(ready_at=ready, done_at=done, work=((ready, done),))
    early, late = (
        attribute(times, price, [Tenant(BEGAN, moment, told)])[0] for moment in (end, end + 500)
    )
    assert early.quanta["work"] == late.quanta["work"]


@given(intervals(), moments, offers)
def test_a_job_alone_on_a_node_is_billed_at_least_what_ran(times, until, price):
    if price.boot_billed is not False:
        tenant = Tenant(times.launched_at, max(until, times.launched_at))
        [share] = attribute(NodeTimes.of(times), price, [tenant])
        assert sum(share.billed.values()) >= sum(share.raw.values())


def interval(launched: float, gone: float) -> NodeInterval:
    return NodeInterval("n", at(launched), at(gone))


def marker(shard: int, begin: float, end: float, attempt: int = 1) -> Marker:
    return Marker(
        shard=shard,
        epoch=1,
        attempt=attempt,
        rows=4,
        errors=1,
        digest="d",
        started_at=at(begin),
        ended_at=at(end),
        node="n",
        busy=((at(begin), at(end)),),
    )


def stay(told: Told, until: float = 0, done_at: float | None = None, setback: bool = False):
    ending = Ending(done_at)
    return Tenancy(record("j"), "c", offer(), at(0), told, ending, setback=setback)


def test_an_entry_tells_the_rows_that_were_made_on_its_node():
    told = Told(Attempt(epoch=1, ready_at=at(0)), (marker(0, 0, 10), marker(1, 10, 20)))
    [entry] = stay(told).entries([interval(0, 30)], at(30))
    assert (entry.images, entry.ok) == (8, 6)


def test_amounts_are_multiples_of_the_quantum():
    assert in_quanta(Decimal("0.1")) == 10**8
