"""Jitter spreads runs, the same way for everybody, and loses none."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.schedules.due import due
from jobs.schedules.schedule import Plan, Schedule

HOUR = 3600.0


@given(st.integers(1, 86400), st.integers(0, 10**6))
def test_jitter_is_the_same_for_everybody_and_within_its_bound(jitter_s, hours):
    plan = a_plan(jitter_s=jitter_s)
    nominal = hours * HOUR
    assert plan.starts_at(nominal) == a_plan(jitter_s=jitter_s).starts_at(nominal)
    assert 0 <= plan.starts_at(nominal) - nominal <= jitter_s


def a_plan(**changes):
    common = {"name": "n", "cron": "0 6 * * *", "zone": "America/New_York", "model": "m"}
    places = {"prefix": "s3://b/in/", "output": "s3://b/out/"}
    return Plan(**{**common, **places, **changes})


@pytest.mark.parametrize("jitter_s", [0, 600, 7200, 86400])
@pytest.mark.parametrize("every_s", [60.0, 7 * 3600.0])
def test_jitter_loses_no_day(jitter_s, every_s):
    """As somebody looks now and then, every day of two months is run once, in order."""
    start = 1_770_000_000.0
    schedule = Schedule(
        plan=a_plan(jitter_s=jitter_s, catch_up="all", catch_up_limit=100),
        created_at=start,
        cursor=start,
    )
    days, now, end = [], start, start + (60 if every_s > 60 else 5) * 86400
    while now < end:
        now += every_s
        found = due(schedule, now)
        if found.run is not None:
            days.append(found.run)
            schedule = schedule.model_copy(update={"cursor": found.run})
    steps = {round(b - a) for a, b in pairwise(days)}
    assert len(days) >= 3
    assert steps <= {82800, 86400, 90000}
