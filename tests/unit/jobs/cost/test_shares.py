"""Parts sum to what was cut, exactly, at any scale."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cost.shares import QUANTUM, in_quanta, in_usd, share, share_units

amounts = st.integers(0, 10**40).map(in_usd)
weights = st.integers(0, 10**12).map(Decimal)


@given(amounts, st.lists(weights, min_size=1, max_size=50))
def test_shares_sum_to_the_amount_exactly_and_none_is_negative(amount, weights):
    parts = share(amount, weights)
    assert sum(map(in_quanta, parts)) == in_quanta(amount)
    assert len(parts) == len(weights)
    assert min(parts) >= 0


@given(st.integers(0, 10**20), st.lists(st.integers(1, 10**6), min_size=2, max_size=20))
def test_no_share_is_a_unit_or_more_from_its_exact_part(amount, weights):
    for part, weight in zip(share_units(amount, weights), weights, strict=True):
        assert abs(part * sum(weights) - amount * weight) < sum(weights)


def test_ten_thousand_rows_of_less_than_a_cent_sum_to_what_they_cost():
    parts = share(Decimal("4.000000001"), [Decimal(1)] * 10_000)
    assert sum(parts) == Decimal("4.000000001")
    assert set(parts) == {Decimal("0.0004"), Decimal("0.000400001")}


def test_without_weights_shares_are_equal():
    assert share(Decimal("0.000000003"), [Decimal(0)] * 3) == [QUANTUM] * 3


def test_nobody_shares_nothing():
    assert share(Decimal(0), []) == []


def test_an_amount_finer_than_the_quantum_is_refused():
    with pytest.raises(ValueError, match="no multiple"):
        share(Decimal("0.0000000001"), [Decimal(1)])
