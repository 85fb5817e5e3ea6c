"""Stretches of time are joined, cut and counted; nothing is counted twice."""

from hypothesis import given
from hypothesis import strategies as st

from jobs.stretches import capped, length, union, within, without

some = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=12)


def units(stretches):
    return {unit for begin, end in stretches for unit in range(begin, end)}


@given(some)
def test_a_union_has_each_moment_once(stretches):
    assert length(union(stretches)) == len(units(stretches))
    assert units(union(stretches)) == units(stretches)


@given(some, some)
def test_what_is_taken_away_is_gone_and_nothing_else(stretches, taken):
    assert units(without(stretches, taken)) == units(stretches) - units(taken)


@given(some, st.integers(0, 60), st.integers(0, 60))
def test_what_lies_within_is_what_is_left_between_two_moments(stretches, begin, end):
    assert units(within(stretches, begin, end)) == units(stretches) & set(range(begin, end))


@given(some, st.integers(1, 6))
def test_a_cap_loses_no_moment_and_keeps_to_its_number(stretches, most):
    found = capped(stretches, most)
    assert len(found) <= most
    assert units(found) >= units(stretches)


def test_the_smallest_gaps_are_closed():
    assert capped([(0, 1), (2, 3), (9, 10)], 2) == [(0, 3), (9, 10)]
