"""Break-even never costs more than twice the best; learning is on a leash."""

import math
from decimal import Decimal
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.policy.arrivals import Arrival
from jobs.policy.clairvoyant import optimum_s
from jobs.policy.costs import CostModel
from jobs.policy.history import History
from jobs.policy.idle import BreakEven, Fixed, window_for
from jobs.policy.learned import ALLOWANCE, Learned, slack_s
from jobs.policy.replay import replay


def costs(start=100, teardown=20, step=1, minimum=0):
    return CostModel(Decimal("3.60"), start, 0, teardown, step, minimum)


METERS = st.builds(
    lambda start, teardown, step, steps: costs(start, teardown, step, step * steps),
    st.integers(0, 400),
    st.integers(0, 60),
    st.sampled_from([1, 7, 60, 3600]),
    st.integers(0, 12),
)


@st.composite
def given_gaps(draw):
    """A meter, work and gaps: of any length, and just around where a rule may decide."""
    meter = draw(METERS)
    around = meter.restart_s + meter.granularity_s
    odd = [0, 1, int(around), int(around) + 1, meter.minimum_s + int(around) + 1]
    length = st.one_of(st.integers(0, 5000), st.sampled_from(odd))
    work = draw(
        st.lists(st.one_of(st.integers(0, 30), st.integers(0, 4000)), min_size=1, max_size=8)
    )
    gaps = draw(st.lists(length, min_size=len(work) - 1, max_size=len(work) - 1))
    return meter, work, gaps


def cost_of_gaps(meter, work, gaps, window):
    """Billed seconds where gaps are given, whatever is decided in them."""
    total, age = 0.0, meter.start_s + work[0]
    for gap, more in zip(gaps, work[1:], strict=True):
        wait = window(age)
        if gap <= wait:
            age += gap + more
        else:
            total += meter.billed_s(age + wait + meter.teardown_s)
            age = meter.start_s + more
    return total + meter.billed_s(age + window(age) + meter.teardown_s)


def best_of_gaps(meter, work, gaps):
    """The least over all ways to cut the work into lives of a node."""
    least = [0.0]
    for end in range(1, len(work) + 1):
        life, options = meter.start_s + meter.teardown_s, []
        for first in range(end - 1, -1, -1):
            life += work[first] + (gaps[first] if first < end - 1 else 0)
            options.append(least[first] + meter.billed_s(life))
        least.append(min(options))
    return least[-1]


def even_cost(meter, work, gaps):
    rule, history = BreakEven(meter), History(meter)
    return cost_of_gaps(meter, work, gaps, lambda age: rule.window_s(0, history, age).window_s)


@settings(max_examples=300, deadline=None)
@given(given_gaps())
def test_break_even_never_costs_more_than_twice_the_best_whatever_the_meter(case):
    assert even_cost(*case) <= 2 * best_of_gaps(*case)


def test_nor_on_thousands_of_gaps_around_where_it_decides():
    random = Random(1)
    for _ in range(3000):
        step = random.choice([1, 7, 60, 3600])
        meter = costs(
            random.randint(0, 400),
            random.randint(0, 60),
            step,
            step * random.choice([0, 1, random.randint(0, 12)]),
        )
        count = random.randint(1, 8)
        work = [random.choice([0, 1, random.randint(0, 4000)]) for _ in range(count)]
        around = meter.restart_s + random.choice([0, meter.granularity_s, meter.minimum_s])
        gaps = [max(0, random.choice([1, 2]) * around + random.randint(-2, 2)) for _ in work[1:]]
        case = (meter, work, gaps)
        assert even_cost(*case) <= 2 * best_of_gaps(*case), case


def test_twice_is_reached_so_the_bound_is_no_accident():
    meter, work, gaps = costs(), [0] * 50, [121] * 49
    assert even_cost(meter, work, gaps) == 2 * best_of_gaps(meter, work, gaps)


def test_to_count_the_minimum_into_the_restart_would_break_the_bound():
    meter = costs(start=8, teardown=2, minimum=1000)
    work, gaps = [0] + [0, 0] * 20, [1990, 1001] * 20
    dear = cost_of_gaps(meter, work, gaps, lambda age: window_for(meter, age, 1000))
    assert dear > 2.5 * best_of_gaps(meter, work, gaps)


ARRIVALS = st.lists(
    st.tuples(st.one_of(st.integers(0, 400), st.integers(0, 9000)), st.integers(0, 300)),
    min_size=1,
    max_size=40,
)


def trace(apart):
    found, at = [], 0
    for gap, work in apart:
        at += gap
        found.append(Arrival(at, work, 1))
    return found


@settings(max_examples=200, deadline=None)
@given(ARRIVALS, st.integers(1, 400), st.integers(0, 60))
def test_where_starts_delay_what_follows_break_even_costs_at_most_three_times_the_best(
    apart, start, teardown
):
    meter, arrivals = costs(start, teardown), trace(apart)
    assert replay(arrivals, BreakEven(meter), meter).billed_s <= 3 * optimum_s(arrivals, meter)


@settings(max_examples=100, deadline=None)
@given(ARRIVALS, st.integers(1, 400), st.integers(0, 60))
def test_learning_costs_at_most_3_3_times_the_best_and_eight_restarts(apart, start, teardown):
    meter, arrivals = costs(start, teardown), trace(apart)
    most = 3.3 * optimum_s(arrivals, meter) + 8 * meter.restart_s
    assert replay(arrivals, Learned(meter), meter).billed_s <= most


def test_what_is_billed_in_any_case_is_waited_in_for_nothing():
    hourly = costs(step=3600)
    assert window_for(hourly, 500, 0) == 3600 - 20 - 500
    assert window_for(costs(minimum=600), 200, 0) == 600 - 20 - 200
    assert window_for(costs(), 500, 0) == 0
    decided = BreakEven(hourly).window_s(0, History(hourly), 500)
    assert decided.window_s == 2 * 3600 - 20 - 500
    assert "3080 s are billed in any case" in decided.reason


def fed(meter, jobs):
    """A history of jobs, and windows as the learned rule decided them."""
    history, rule = History(meter), Learned(meter)
    for at, work in jobs:
        if history.ours.up and at > history.ours.free_at:
            now, age = history.ours.free_at, history.ours.age_s
            history.decided(rule.window_s(now, history, age).window_s)
        history.arrived(at, work)
    return history


def test_with_little_history_the_learned_rule_is_break_even():
    meter = costs()
    decided = Learned(meter).window_s(5000, fed(meter, [(0, 10), (4000, 10)]), 0)
    assert decided.window_s == 120
    assert "2 jobs tell too little" in decided.reason


def test_jobs_that_come_far_apart_teach_not_to_wait():
    meter = costs()
    history = fed(meter, [(4000 * n, 10) for n in range(30)])
    decided = Learned(meter).window_s(history.ours.free_at, history, 0)
    assert decided.window_s == 0
    assert decided.reason.startswith("learned from 30 jobs")


def test_pairs_of_jobs_teach_to_wait_for_the_second():
    meter = costs(start=100, teardown=100)
    jobs = [(5000 * n + late, 150) for n in range(40) for late in (0, 275)]
    history = fed(meter, jobs)
    decided = Learned(meter).window_s(history.ours.free_at, history, 0)
    assert 25 <= decided.window_s < 200


def test_what_was_learned_of_one_hour_says_little_about_another():
    meter = costs(start=20, teardown=180)
    day = 86400
    night = [(day * n + 7200 + 4000 * k, 10) for n in range(20) for k in range(2)]
    noon = [(day * n + 43200 + 210 * k, 150) for n in range(20) for k in range(12)]
    history = fed(meter, sorted(night + noon))
    rule = Learned(meter)
    at_night = rule.window_s(20 * day + 7300, history).window_s
    assert at_night < rule.window_s(20 * day + 43300, history).window_s


def test_when_the_stream_turns_against_what_was_learned_break_even_takes_over():
    meter = costs(start=1, teardown=199)
    calm = [(5000 * n, 10) for n in range(10)]
    turned = [(50000 + 12 * n, 10) for n in range(500)]
    history = fed(meter, calm + turned)
    assert slack_s(history) > -ALLOWANCE * meter.restart_s
    decided = Learned(meter).window_s(history.ours.free_at, history, 0)
    assert decided.window_s >= 2


@pytest.mark.parametrize("rule", [Fixed(60), Fixed(math.inf)])
def test_a_fixed_window_is_what_was_set(rule):
    assert rule.window_s(0, History(costs())).window_s == rule.seconds


def test_windows_grow_with_the_budget():
    windows = [window_for(costs(step=60, minimum=600), 130, each) for each in (0, 50, 100, 500)]
    assert all(one <= other for one, other in pairwise(windows))
