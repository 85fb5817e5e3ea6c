"""This machine as hardware: nothing is told until a job of the model has run here."""

from decimal import Decimal

import pytest

from infra.models.find import find_spec
from infra.offers import local_offer
from infra.planner.local import REST_S, quote_local
from infra.planner.measured import Measured
from infra.planner.plan import make_plan
from infra.planner.report import local_to_json
from infra.planner.workload import Workload

MODEL = "zeroshift/parts-inspector"
SPEC = find_spec(MODEL)
WORK = Workload(200, ((160, 120),))
KNOWN = Measured(2, 0.001, 0.002, 0.004, 30.0, 50.0)


def quoted(known=KNOWN, nodes=1, idle_s=15):
    plan = make_plan(MODEL, local_offer(Decimal("3.60"), 2, 4), nodes)
    return quote_local(plan, SPEC, WORK, known, idle_s)


def test_seconds_and_usd_are_unknown_before_the_first_job_and_not_zero():
    found = quoted(known=None)
    assert (found.duration, found.cost) == (None, None)
    shown = local_to_json(found, SPEC)
    assert (shown["time_s"], shown["cost"]) == (None, None)
    assert shown["warnings"] == ["seconds and USD are unknown: no job of this model has run"]


def test_afterwards_they_are_what_earlier_jobs_measured_for_a_token():
    found = quoted()
    tokens = found.tokens.sequence * 200
    work = found.duration.work
    measured = (0.001 * tokens, 0.002 * tokens, 0.004 * tokens)
    assert (work.low, work.expected, work.high) == pytest.approx(measured)
    assert found.duration.start.expected == 30.0
    assert found.duration.basis == "measured by 2 earlier jobs"


def test_the_idle_window_is_paid_for_too():
    assert quoted(idle_s=0).duration.rest == REST_S
    assert quoted(idle_s=60).duration.rest.expected == REST_S.expected + 60
    assert quoted(idle_s=60).cost.usd > quoted(idle_s=0).cost.usd


def test_the_bill_is_node_seconds_by_the_price_of_the_settings():
    found = quoted(nodes=2)
    each = int(-(-found.duration.node.expected // 1))
    assert found.cost.billed_s == 2 * each
    assert found.cost.usd == pytest.approx(Decimal(2 * each) / 1000, abs=Decimal("0.0001"))


def test_more_nodes_share_the_work_but_each_starts():
    one, four = quoted(), quoted(nodes=4)
    assert four.duration.work.expected == pytest.approx(one.duration.work.expected / 4)
    assert four.cost.billed_s > one.cost.billed_s


def test_no_gpu_is_named_and_no_memory_shared_out():
    shown = local_to_json(quoted(nodes=2), SPEC)
    assert (shown["choice"]["gpu"], shown["choice"]["count"]) == (None, 0)
    assert (shown["choice"]["nodes"], shown["choice"]["offer"]) == (2, "local")
    assert shown["memory"] is None
    assert shown["engine"] == quoted(nodes=2).plan.engine
    assert shown["warnings"] == []
