"""What earlier jobs measured, put together."""

from hypothesis import given
from hypothesis import strategies as st

from infra.planner.measured import WIDEST, Sample, measured

SAMPLE = Sample(images=100, tokens=50_000, output_tokens=5_000, work_s=100.0, startup_s=60.0)
samples = st.builds(
    Sample,
    images=st.integers(1, 10**5),
    tokens=st.integers(1, 10**8),
    output_tokens=st.integers(0, 10**6),
    work_s=st.floats(0.1, 10**6),
    startup_s=st.floats(0, 3600),
)


def test_no_job_has_measured_nothing():
    assert measured([]) is None


def test_jobs_that_did_no_work_say_nothing():
    idle = [Sample(0, 0, 0, 0.0, 30.0), Sample(10, 0, 0, 5.0, 30.0), Sample(10, 5, 0, 0.0, 30.0)]
    assert measured(idle) is None
    assert measured([*idle, SAMPLE]).jobs == 1


def test_one_job_gives_a_range_that_is_not_narrower_than_a_tenth():
    found = measured([SAMPLE])
    assert found.median_s == 0.002
    assert (found.fastest_s, found.slowest_s) == (0.002 * 0.9, 0.002 * 1.1)
    assert (found.startup_s, found.output_tokens) == (60.0, 50.0)


def test_the_fastest_and_the_slowest_job_are_the_ends():
    fast = Sample(100, 100_000, 5_000, 100.0, 40.0)
    slow = Sample(100, 10_000, 5_000, 100.0, 80.0)
    found = measured([slow, SAMPLE, fast])
    assert (found.fastest_s, found.median_s, found.slowest_s) == (0.001, 0.002, 0.01)
    assert found.startup_s == 60.0


@given(st.lists(samples, min_size=1, max_size=8))
def test_the_median_lies_within_the_ends_whatever_the_order(jobs):
    found = measured(jobs)
    assert found == measured(jobs[::-1])
    assert found.fastest_s <= found.median_s * (1 - WIDEST)
    assert found.slowest_s >= found.median_s * (1 + WIDEST)
    assert found.jobs == len(jobs)
