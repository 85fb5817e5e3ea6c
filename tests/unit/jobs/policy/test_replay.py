"""A replay's bill adds up; the clairvoyant optimum is what brute force finds."""

import math
from decimal import Decimal
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.policy.arrivals import Arrival
from jobs.policy.batching import held
from jobs.policy.clairvoyant import Known, clairvoyant, optimum_s
from jobs.policy.costs import CostModel
from jobs.policy.idle import BreakEven, Decision, Fixed
from jobs.policy.replay import replay


def costs(startup=60, load=40, teardown=20, step=1, minimum=0):
    return CostModel(Decimal("3.60"), startup, load, teardown, step, minimum)


class Chosen:
    """Stops or waits as it is told, decision by decision."""

    name = "chosen"

    def __init__(self, stops):
        self._stops = iter(stops)

    def window_s(self, now, history, age_s=0.0):
        return Decision(0.0 if next(self._stops) else math.inf, "")


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 90)), min_size=1, max_size=6),
    st.builds(
        costs,
        startup=st.integers(0, 80),
        teardown=st.integers(0, 60),
        step=st.sampled_from([1, 60, 500]),
        minimum=st.sampled_from([0, 60, 400]),
    ),
)
def test_the_optimum_is_what_brute_force_finds(apart, meter):
    arrivals, at = [], 0
    for gap, work in apart:
        at += gap
        arrivals.append(Arrival(at, work, 1))
    count = len(arrivals)
    every = (Chosen([*stops, True]) for stops in product([False, True], repeat=count - 1))
    least = min(replay(arrivals, rule, meter).billed_s for rule in map(_then_stop, every))
    assert optimum_s(arrivals, meter) == least
    assert replay(arrivals, clairvoyant(arrivals, meter), meter).billed_s == least


def _then_stop(rule):
    """The rule, which in the end stops: there is nothing to wait for."""

    class Ending(Chosen):
        def __init__(self):
            self.name = rule.name

        def window_s(self, now, history, age_s=0.0):
            return rule.window_s(now, history, age_s)

    return Ending()


def test_classes_sum_to_what_the_node_is_billed():
    arrivals = [Arrival(0, 30, 1), Arrival(150, 30, 1), Arrival(1000, 5, 1)]
    outcome = replay(arrivals, Fixed(60), costs(step=60))
    # 0 to 270 (start 100, work 30, idle 20, work 30, idle 60, teardown 20 = 260), 1000 to 1185.
    assert outcome.billed_s == 300 + 240
    assert sum(outcome.usd.values()) == outcome.total_usd == Decimal("0.54")
    assert (outcome.starts, outcome.waits_s) == (2, (100, 0, 100))


def test_a_job_that_comes_during_the_teardown_waits_for_the_next_cluster():
    outcome = replay([Arrival(0, 10, 1), Arrival(120, 10, 1)], Fixed(0), costs())
    assert outcome.waits_s == (100, 110)


def test_always_on_is_paid_to_the_horizon():
    outcome = replay([Arrival(0, 10, 1)], Fixed(math.inf), costs(), horizon_s=10_000)
    assert outcome.billed_s == 10_000 + 20


def test_a_job_that_may_wait_is_joined_by_the_next_and_one_start_serves_both():
    alone = [Arrival(0, 10, 1), Arrival(500, 10, 1)]
    patient = [Arrival(0, 10, 1, max_wait_s=600), Arrival(500, 10, 1)]
    once, twice = (replay(jobs, Fixed(0), costs()) for jobs in (patient, alone))
    assert (once.starts, twice.starts) == (1, 2)
    assert once.billed_s < twice.billed_s
    assert once.waits_s == (600, 110)


def test_nobody_waits_longer_than_it_may():
    outcome = replay([Arrival(0, 10, 1, 300), Arrival(5000, 10, 1)], Fixed(0), costs())
    assert outcome.waits_s[0] == 300 + 100


def test_a_job_is_held_only_while_that_saves_a_start():
    assert held(now=10, hold_until=20, warm=False, others=0)
    assert not held(now=20, hold_until=20, warm=False, others=0)
    assert not held(now=10, hold_until=20, warm=True, others=0)
    assert not held(now=10, hold_until=20, warm=False, others=1)


def test_the_clairvoyant_waits_where_it_was_not_told_to_stop():
    assert Known(frozenset([5.0])).window_s(5.0, None).window_s == 0
    assert math.isinf(Known(frozenset([5.0])).window_s(6.0, None).window_s)


def test_a_long_trace_is_no_trouble():
    arrivals = [Arrival(150.0 * n, 20, 1) for n in range(500)]
    assert optimum_s(arrivals, costs()) <= replay(arrivals, BreakEven(costs()), costs()).billed_s
