"""Charts show what the figures say: bars fill their width, areas sum to all rows."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.report.charts import WIDTH, Part, Work, area, bar, nice, rates

SECONDS = st.floats(0, 1e5)
WORK = st.builds(
    lambda start, length, rows: Work(start, start + length, rows),
    SECONDS,
    st.floats(0.001, 1e4),
    st.integers(0, 1000),
)


@given(st.lists(WORK, min_size=1, max_size=20))
def test_rates_sum_to_all_rows(work):
    steps = rates(work)
    step = max(each.end for each in work) / len(steps)
    total = sum(each.rows for each in work)
    assert sum(rate * step for _, rate in steps) == pytest.approx(total, abs=1e-3 + total * 1e-3)


def test_work_in_the_first_half_leaves_the_second_empty():
    steps = rates([Work(0, 10, 100), Work(19.9, 20, 0)], bins=4)
    assert [round(rate, 6) for _, rate in steps] == [10, 10, 0, 0]


def test_nothing_worked_has_no_rate():
    assert rates([]) == []


def test_a_bar_fills_its_width_and_leaves_out_what_is_nothing():
    drawn = bar("t", [Part("a", 1, "work"), Part("b", 0, "idle"), Part("c", 3, "quiet")])
    places = [
        (float(x), float(width))
        for x, width in re.findall(r'x="([\d.]+)" y="0" width="([\d.]+)"', drawn)
    ]
    assert len(places) == 2
    assert places[-1][0] + places[-1][1] == pytest.approx(WIDTH, abs=0.2)
    assert places[1][1] == pytest.approx(3 * places[0][1], abs=0.5)


def test_a_bar_of_nothing_is_empty():
    assert "<rect" not in bar("t", [Part("a", 0, "work")])


def test_names_in_a_chart_are_text():
    assert "<script>" not in bar("<script>", [Part("<script>", 1, "work")])
    assert "<script>" not in area("<script>", [(0, 1)], 1, 1)


@pytest.mark.parametrize(
    ("value", "top"), [(0, 1), (0.03, 0.05), (1, 1), (1.1, 2), (24, 25), (26, 50), (740, 1000)]
)
def test_a_scale_ends_at_the_next_round_number(value, top):
    assert nice(value) == pytest.approx(top)
