"""Reports add entries up as they pass, and say what they do not know."""

import tracemalloc
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cost.comparison import AlwaysOn, at_endpoints, cheapest, hourly_usd
from jobs.cost.entry import CLASSES, Entry, NodeTimes
from jobs.cost.report import make_report
from jobs.cost.since import parse_since
from jobs.errors import UserError
from jobs.record import OfferSnapshot


def amounts(report) -> dict[str, Decimal | None]:
    return {key: sums.total_usd for key, sums in report.in_order()}


@pytest.mark.parametrize(
    ("by", "keys"),
    [
        ("job", ["b", "a"]),
        ("label", ["line=4", "-"]),
        ("label:line", ["4", "-"]),
        ("label:nope", ["-"]),
        ("model", ["m"]),
        ("day", ["2026-11-10", "2026-11-11"]),
        ("phase", list(CLASSES)),
    ],
)
def test_entries_are_added_up_by_what_is_asked_for(make_entry, noon, by, keys):
    found = [
        make_entry("a", 100),
        make_entry("b", 300, labels={}, until=noon + 86400),
        make_entry("b", 1000),
    ]
    report = make_report(found, by)
    assert [key for key, _ in report.in_order()] == keys
    assert report.total.total_usd == Decimal("1.4")
    assert sum(filter(None, amounts(report).values())) == Decimal("1.4")


def test_a_way_that_there_is_not_names_those_there_are():
    for by in ("labels", "label:", "", "Job"):
        with pytest.raises(UserError, match="allowed: job, label, label:NAME, model, day, phase"):
            make_report([], by)


def test_what_nobody_had_stands_under_a_dash(make_entry):
    assert amounts(make_report([make_entry(None)], "job")) == {"-": Decimal("0.1")}


def test_an_entry_with_two_labels_is_in_both_groups_and_once_in_the_total(make_entry):
    report = make_report([make_entry(labels={"line": "4", "shift": "b"})], "label")
    assert amounts(report) == {"line=4": Decimal("0.1"), "shift=b": Decimal("0.1")}
    assert report.total.total_usd == Decimal("0.1")


def test_entries_without_a_price_are_counted_apart_and_cost_is_never_made_up(make_entry):
    report = make_report([make_entry("a"), make_entry("b", price=None)], "job")
    assert amounts(report) == {"a": Decimal("0.1"), "b": None}
    total = report.total
    assert (total.total_usd, total.unpriced, total.total_billed_s) == (Decimal("0.1"), 1, 200)
    assert total.usd_per_1000 is None
    assert report.groups["a"].usd_per_1000 == 10


def test_classes_of_time_and_kinds_without_a_node_sum_to_the_total(make_entry):
    cut = make_entry(
        raw_s={"startup": Decimal("20.5"), "work": Decimal("79.5")},
        billed_s={"startup": Decimal(21), "work": Decimal(79)},
        usd={"startup": Decimal("0.021"), "work": Decimal("0.079")},
    )
    asked = make_entry(
        kind="requests",
        node=None,
        quantity=Decimal(10),
        unit="requests",
        usd={"requests": Decimal("0.004")},
    )
    report = make_report([cut, asked], "phase")
    assert report.groups["startup"].total_raw_s == Decimal("20.5")
    assert report.groups["requests"].total_usd == Decimal("0.004")
    assert sum(filter(None, amounts(report).values())) == report.total.total_usd == Decimal("0.104")


@given(cuts=st.lists(st.integers(1, 20000), min_size=1, max_size=6))
def test_tenancies_of_a_node_sum_to_its_begun_hours(cuts):
    offer = OfferSnapshot(
        name="x",
        usd_per_hour=Decimal("3.60"),
        billing_granularity_s=1,
        minimum_s=0,
        catalogue_date="",
    )
    born, moment, total = 1000.0, 1000.0, Decimal(0)
    gone = born + sum(cuts)
    node = NodeTimes(node_id="n", launched_at=born, gone_at=gone)
    for seconds in cuts:
        one = Entry(job_id="j", node=node, since=moment, until=moment + seconds, offer=offer)
        total += hourly_usd(one)
        moment += seconds
    assert total == -(-sum(cuts) // 3600) * Decimal("3.60")


def test_nodes_kept_on_are_those_there_were_at_once(make_entry, noon):
    kept = AlwaysOn()
    kept.add(make_entry(until=noon))
    kept.add(make_entry(until=noon + 100, job_id="next"))  # the same node, handed on
    assert (kept.nodes, kept.usd(86400)) == (1, Decimal("86.4"))
    kept.add(make_entry(until=noon + 50, node="c-n2"))
    assert (kept.nodes, kept.usd(3600)) == (2, Decimal("7.2"))
    kept.add(make_entry(node="c-n3", price=None))
    assert kept.usd(3600) is None


def test_a_model_with_an_endpoint_has_a_price_there_and_another_is_not_known():
    found = at_endpoints("Qwen/Qwen2.5-VL-72B-Instruct", 1_000_000, 1_000_000)
    priced = [each.usd for each in found if each.usd is not None]
    assert cheapest(found).usd == min(priced) > 0
    assert at_endpoints("zeroshift/parts-inspector", 1, 1) == []
    assert cheapest([]) is None


def test_a_report_holds_groups_and_not_entries(make_entry, noon):
    """A month of 5,000 jobs, by day: what is held must not grow with the jobs."""

    def month():
        for number in range(5000):
            yield make_entry(f"job-{number}", until=noon + number * 500)

    for _ in month():  # what is made once is not held against it
        break
    tracemalloc.start()
    try:
        report = make_report(month(), "day")
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert report.total.entries == 5000
    assert held < 500_000  # rows would take ten times as much


@pytest.mark.parametrize(
    ("text", "moment"),
    [("12h", 1e9 - 43200), ("7d", 1e9 - 604800), ("1w", 1e9 - 604800), ("1970-01-02", 86400)],
)
def test_how_far_back_is_a_span_or_a_day(text, moment):
    assert parse_since(text, 1e9) == moment


@pytest.mark.parametrize("text", ["7", "7 d", "yesterday", "", "2999-01-01", "2026-13-01"])
def test_another_text_is_refused_in_one_line(text):
    with pytest.raises(UserError, match=r"--since: .*allowed: a span such as 12h, 7d or 4w"):
        parse_since(text, 1.8e9)
