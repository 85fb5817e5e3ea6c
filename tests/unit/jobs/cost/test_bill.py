"""A bill is to the second, its parts sum to its total, and nobody pays a second twice."""

from decimal import Decimal
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from infra.clusters.base import NodeInterval
from jobs.cost.bill import QUANTUM, Span, make_bill, share
from jobs.record import OfferSnapshot

BEGAN = 1_700_000_000.0
moments = st.floats(BEGAN - 100, BEGAN + 5000).map(lambda each: round(each, 3))
maybe = st.none() | moments
amounts = st.integers(0, 10**15).map(lambda quanta: quanta * QUANTUM)


def offer(usd_per_hour: str = "3.60", step_s: int = 1, minimum_s: int = 0) -> OfferSnapshot:
    return OfferSnapshot(
        name="local",
        usd_per_hour=Decimal(usd_per_hour),
        billing_granularity_s=step_s,
        minimum_s=minimum_s,
        catalogue_date="today",
    )


offers = st.builds(
    offer,
    st.decimals(0, 100, places=4).map(str),
    st.sampled_from([1, 60, 3600]),
    st.sampled_from([0, 60, 600]),
)


@st.composite
def intervals(draw):
    launched = draw(moments)
    gone = draw(st.none() | st.floats(0, 4000).map(lambda lived: round(launched + lived, 3)))
    return NodeInterval("n", launched, gone)


def test_a_bill_is_as_worked_out_by_hand():
    # 100 s of a node at 0.001 USD a second: 20.5 s start, to 80 s work, the rest idle.
    node = NodeInterval("n", BEGAN, BEGAN + 100)
    bill = make_bill([node], Span(BEGAN, BEGAN + 20.5, BEGAN + 80, BEGAN + 100), offer())
    assert bill.usd == Decimal("0.1")
    assert bill.seconds == {"startup": 21, "work": 59, "idle": 20}
    assert bill.costs == {
        "startup": Decimal("0.021"),
        "work": Decimal("0.059"),
        "idle": Decimal("0.020"),
    }
    assert (bill.billed_s, bill.raw_s, bill.nodes) == (100, 100, 1)


def test_a_node_that_lives_less_than_the_minimum_is_billed_the_minimum():
    node = NodeInterval("n", BEGAN, BEGAN + 5)
    bill = make_bill([node], Span(BEGAN, None, None, BEGAN + 5), offer(minimum_s=60))
    assert (bill.billed_s, bill.raw_s, bill.usd) == (60, 5, Decimal("0.06"))


def test_a_begun_step_is_billed_whole():
    node = NodeInterval("n", BEGAN, BEGAN + 61)
    bill = make_bill([node], Span(BEGAN, BEGAN, BEGAN + 61, BEGAN + 61), offer(step_s=60))
    assert bill.billed_s == 120


def test_a_job_whose_engine_never_answered_pays_startup_alone():
    node = NodeInterval("n", BEGAN, None)
    bill = make_bill([node], Span(BEGAN, None, None, BEGAN + 30), offer())
    assert bill.seconds == {"startup": 30, "work": 0, "idle": 0}


def test_a_node_that_was_gone_before_the_job_costs_it_nothing():
    node = NodeInterval("n", BEGAN, BEGAN + 10)
    bill = make_bill([node], Span(BEGAN + 20, None, None, BEGAN + 30), offer(minimum_s=600))
    assert (bill.usd, bill.billed_s, bill.nodes) == (0, 0, 0)


def test_no_nodes_are_free():
    assert make_bill([], Span(BEGAN, None, None, BEGAN + 9), offer()).usd == 0


@given(st.lists(intervals(), max_size=4), moments, maybe, maybe, moments, offers)
def test_the_parts_sum_to_the_total_and_none_is_negative(nodes, since, ready, done, until, price):
    bill = make_bill(nodes, Span(since, ready, done, until), price)
    assert sum(bill.costs.values()) == bill.usd
    assert sum(bill.seconds.values()) == bill.billed_s
    assert min(*bill.costs.values(), *bill.seconds.values(), bill.usd, bill.raw_s) >= 0


@given(intervals(), moments, offers)
def test_a_job_alone_on_a_node_is_billed_at_least_what_ran(node, until, price):
    bill = make_bill([node], Span(node.launched_at, None, None, until), price)
    assert bill.billed_s >= bill.raw_s


@given(intervals(), st.lists(moments, min_size=1, max_size=4), maybe, maybe, offers)
def test_the_seconds_of_jobs_that_share_a_node_sum_to_the_nodes(node, cuts, ready, done, price):
    end = max(*cuts, node.launched_at, node.gone_at or BEGAN + 9000)
    edges = sorted([min(node.launched_at, *cuts), *cuts, end])
    spans = [Span(a, ready, done, b) for a, b in pairwise(edges)]
    whole = make_bill([node], Span(edges[0], None, None, end), price)
    assert sum(make_bill([node], span, price).billed_s for span in spans) == whole.billed_s


@given(moments, moments, moments)
def test_what_rows_were_charged_for_work_does_not_change_while_the_cluster_idles(
    ready, done, until
):
    node, end = NodeInterval("n", BEGAN, None), max(ready, done, until)
    early = make_bill([node], Span(BEGAN, ready, done, end), offer("7.77"))
    late = make_bill([node], Span(BEGAN, ready, done, end + 500), offer("7.77"))
    assert early.costs["work"] == late.costs["work"]


@given(amounts, st.lists(st.integers(0, 10**6).map(Decimal), min_size=1, max_size=50))
def test_shares_sum_to_the_amount_exactly_and_none_is_negative(amount, weights):
    parts = share(amount, weights)
    assert sum(parts) == amount
    assert len(parts) == len(weights)
    assert min(parts) >= 0


@given(amounts, st.lists(st.integers(1, 10**6).map(Decimal), min_size=2, max_size=20))
def test_no_share_is_further_than_a_quantum_from_its_exact_part(amount, weights):
    for part, weight in zip(share(amount, weights), weights, strict=True):
        assert abs(part - amount * weight / sum(weights)) <= QUANTUM


def test_without_weights_shares_are_equal():
    assert share(Decimal("0.000000003"), [Decimal(0)] * 3) == [QUANTUM] * 3


def test_nobody_shares_nothing():
    assert share(Decimal(0), []) == []
