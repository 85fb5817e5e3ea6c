"""A job is stopped when it runs too long, and when too many of its rows fail."""

import pytest

from jobs.control.limits import Limits
from jobs.manifest.manifest import Budget, OnError
from jobs.record import Counts
from jobs.states import State


def exceeded(budget=None, rate=None, done=0, errors=0, total=100, now=0.0):
    limits = Limits(budget or Budget(), OnError(max_error_rate=rate), 0.0)
    return limits.exceeded(Counts(total=total, done=done, errors=errors), now)


def test_without_limits_nothing_is_exceeded():
    assert exceeded(now=1e9, done=100, errors=100) is None


def test_a_job_may_run_as_long_as_its_budget_says():
    budget = Budget(max_runtime_s=60)
    assert exceeded(budget, now=60.0) is None
    assert exceeded(budget, now=60.1) == (
        State.OVER_BUDGET,
        "ran longer than budget.max_runtime_s, 60 s",
    )


@pytest.mark.parametrize(
    ("done", "errors", "total", "stops"),
    [
        (20, 2, 100, False),
        (20, 3, 100, True),
        (19, 19, 100, False),
        (5, 5, 5, True),
        (4, 4, 5, False),
        (0, 0, 0, False),
    ],
)
def test_a_job_whose_rows_fail_too_often_is_stopped_once_enough_are_done(
    done, errors, total, stops
):
    found = exceeded(rate=0.1, done=done, errors=errors, total=total)
    assert (found is not None) is stops
    assert found is None or found[0] is State.FAILED


def test_a_rate_of_zero_stops_at_the_first_error():
    state, reason = exceeded(rate=0.0, done=20, errors=1)
    assert state is State.FAILED
    assert reason == "1 of 20 rows failed, on_error.max_error_rate is 0"
