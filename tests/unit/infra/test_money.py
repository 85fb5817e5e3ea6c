"""Money: what a meter shows, what it costs, and that an unknown price is never zero."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.catalogue.endpoints import find_endpoint
from infra.catalogue.offers import Offer
from infra.planner.money import (
    Range,
    billed_s,
    cost_of,
    hourly_price,
    metered_s,
    per_thousand,
    token_price,
)

OFFER = Offer(
    name="a/b",
    provider="A",
    cpus=8,
    max_nodes=4,
    usd_per_hour=Decimal("3.60"),
    granularity_s=60,
    minimum_s=300,
    dated="2026-11-01",
    gpu="H100",
    gpus=1,
    gpus_per_node=(1,),
    spot_usd_per_hour=Decimal("1.80"),
    async_discount=Decimal("0.5"),
)
seconds = st.decimals(0, 10**6, places=3)
steps, minima = st.sampled_from([1, 60, 3600]), st.sampled_from([0, 60, 300])


@given(seconds, steps, minima)
def test_a_meter_never_shows_less_than_what_ran(ran, step, least):
    shown = metered_s(ran, step, least)
    assert shown >= ran
    assert shown >= least or ran == 0
    assert shown - max(ran, least) < step


@given(seconds, seconds, steps, minima)
def test_a_longer_run_never_shows_less(one, other, step, least):
    assert metered_s(min(one, other), step, least) <= metered_s(max(one, other), step, least)


def test_nothing_that_ran_is_nothing_that_is_billed():
    assert metered_s(Decimal(0), 60, 300) == 0


def test_each_node_has_a_meter_of_its_own():
    assert billed_s(OFFER, 3, 301) == 3 * 360
    assert billed_s(OFFER, 3, 1) == 3 * 300


def test_an_unknown_billing_unit_counts_in_whole_hours():
    assert billed_s(replace(OFFER, granularity_s=None, minimum_s=None), 1, 3601) == 7200


def test_cost_is_node_seconds_by_the_price():
    cost = cost_of(OFFER, 2, Range(1000, 2000, 4000), 500, Decimal("3.60"))
    assert cost.billed_s == 2 * 2040
    assert (cost.usd_low, cost.usd, cost.usd_high) == (
        Decimal("2.0400"),
        Decimal("4.0800"),
        Decimal("8.0400"),
    )
    assert cost.usd_per_1000_images == Decimal("8.1600")
    assert cost.hourly_usd == Decimal("7.2000")
    assert cost.always_on_usd_per_day == Decimal("172.8000")


def test_an_unknown_price_makes_every_amount_unknown_and_the_seconds_stay():
    cost = cost_of(OFFER, 2, Range(1000, 2000, 4000), 500, None)
    amounts = (cost.usd, cost.usd_low, cost.usd_high, cost.usd_per_1000_images, cost.hourly_usd)
    assert amounts == (None,) * 5
    assert cost.always_on_usd_per_day is None
    assert cost.billed_s == 4080


@given(st.floats(1, 10**6), st.floats(0, 10**6), st.integers(1, 64), steps, minima)
def test_longer_or_on_more_nodes_is_never_cheaper(ran, more, nodes, step, least):
    offer = replace(OFFER, granularity_s=step, minimum_s=least)
    base, longer = (
        cost_of(offer, nodes, Range(s, s, s), 100, Decimal("3.60")) for s in (ran, ran + more)
    )
    wider = cost_of(offer, nodes + 1, Range(ran, ran, ran), 100, Decimal("3.60"))
    assert base.usd <= longer.usd
    assert base.usd <= wider.usd
    assert base.usd_low <= base.usd <= base.usd_high


@pytest.mark.parametrize(
    ("spot", "patient", "price"),
    [(False, False, "3.60"), (False, True, "1.80"), (True, False, "1.80"), (True, True, "0.90")],
)
def test_spot_and_patience_are_rewarded_where_the_provider_does(spot, patient, price):
    assert hourly_price(OFFER, spot, patient) == Decimal(price)


def test_no_discount_is_made_up_and_no_price_either():
    assert hourly_price(replace(OFFER, async_discount=None), False, True) == Decimal("3.60")
    assert hourly_price(replace(OFFER, spot_usd_per_hour=None), True, True) is None


def test_amounts_are_rounded_up_to_a_hundredth_of_a_cent():
    assert per_thousand(Decimal(1), 3) == Decimal("333.3334")
    assert per_thousand(None, 3) is None


def test_an_endpoint_takes_both_prices_and_its_discount_for_batches():
    gemini = find_endpoint("gemini-2.5-pro")
    usd = token_price(gemini, 1000, 2000, 100)
    assert usd == (Decimal("1.25") * 2000 + Decimal(10) * 100) * 1000 / 10**6 / 2
    assert token_price(replace(gemini, batch_discount=None), 1000, 2000, 100) == 2 * usd
    assert token_price(replace(gemini, output_usd_per_million=None), 1000, 2000, 100) is None
