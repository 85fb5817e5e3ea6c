"""Figures for people: what is not known is called so, and what took no time is not listed."""

import pytest

from jobs.report import summary


def receipt(usd: tuple[str | None, ...], seconds: tuple[str, ...], **more) -> dict:
    names = ("startup", "work", "teardown")
    phases = [
        {"phase": name, "seconds": each, "usd": cost}
        for name, each, cost in zip(names, seconds, usd, strict=False)
    ]
    return {"bill": {"phases": phases, **more}, "phases_s": {"queued": 1.0, "resting": 0.0}}


def lines(chart) -> list[tuple[str, str, str, str]]:
    return [(line.name, line.seconds, line.share, line.usd) for line in chart.lines]


def test_the_bill_lists_the_phases_that_took_time_with_their_share_of_the_cost():
    found = summary.bill(receipt(("1", "3", "0"), ("10", "30", "0")))
    assert lines(found) == [
        ("startup", "10", "25 %", "1.000000"),
        ("work", "30", "75 %", "3.000000"),
    ]


def test_a_bill_whose_prices_are_unknown_is_drawn_by_its_seconds():
    found = summary.bill(receipt((None, None), ("10", "30")))
    assert lines(found)[1] == ("work", "30", "75 %", "unknown")


def test_what_is_no_nodes_time_stands_below_the_phases():
    more = {"kind": "egress", "quantity": "2", "unit": "GiB", "usd": "0.5"}
    found = summary.bill(receipt(("1", "3"), ("10", "30"), lines=[more]))
    assert lines(found)[-1] == ("egress", "", "", "0.500000")


def test_what_is_no_nodes_time_stands_there_once_of_a_kind():
    kinds = (("requests", "0.1"), ("egress", "0.5"), ("requests", "0.2"), ("egress", None))
    more = [{"kind": kind, "quantity": "2", "unit": "x", "usd": usd} for kind, usd in kinds]
    found = summary.bill(receipt(("1", "3"), ("10", "30"), lines=more))
    told = [("requests", "", "", "0.300000"), ("egress", "", "", "unknown")]
    assert lines(found)[-2:] == told


def test_a_rest_that_is_not_over_is_not_listed():
    assert [line.name for line in summary.phases(receipt((), ())).lines] == ["queued"]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (45, "45 s"), (200, "3 min 20 s"), (3900, "1 h 05 min")],
)
def test_durations_are_said_in_two_parts_at_most(seconds, said):
    assert summary.duration(seconds) == said


@pytest.mark.parametrize(
    ("usd", "said"), [(None, "unknown"), ("0.0123456", "0.0123"), ("1234.5", "1,234.50")]
)
def test_money_has_the_places_that_mean_something(usd, said):
    assert summary.money(usd) == said
