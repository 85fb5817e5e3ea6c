"""The choice: the cheapest that fits, two runners-up, and a reason for every other offer."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.catalogue.endpoints import find_endpoint
from infra.catalogue.gpus import gpus
from infra.catalogue.models import catalogued_models
from infra.catalogue.offers import catalogued_offers
from infra.planner.candidates import Wish
from infra.planner.choice import at_endpoints, choose, endpoint_usd
from infra.planner.measured import Measured
from infra.planner.money import token_price
from infra.planner.workload import Workload, tokens_of

MODELS = catalogued_models()
QWEN_7B = MODELS["Qwen/Qwen2.5-VL-7B-Instruct"]
QWEN_72B = MODELS["Qwen/Qwen2.5-VL-72B-Instruct"]
OFFERS = tuple(offer for offer in catalogued_offers() if offer.gpu)
FEW = tuple(offer for offer in OFFERS if offer.gpu in ("H100", "L40S", "A10G"))
TODAY = date(2026, 11, 30)


def chosen(spec=QWEN_7B, images=1000, offers=OFFERS, deadline_s=None, known=None, **work):
    job = Workload(images, ((1920, 1080),), **work)
    return choose(spec, "none", job, offers, Wish(deadline_s), known or {}, TODAY)


def test_every_offer_is_chosen_runner_up_or_rejected_with_a_reason():
    quote = chosen()
    taken = [quote.choice.offer.name, *(each.offer.name for each in quote.runners_up)]
    rejected = [each.offer for each in quote.rejected]
    assert sorted(taken + rejected) == sorted(offer.name for offer in OFFERS)
    assert all(each.reason for each in quote.rejected)


def test_the_choice_is_the_cheapest_and_the_runners_up_come_next():
    quote = chosen()
    costs = [each.cost.usd for each in (quote.choice, *quote.runners_up)]
    assert len(costs) == 3
    assert costs == sorted(costs)
    dearer = [each for each in quote.rejected if each.reason.startswith("dearer: ")]
    assert dearer
    assert all(each.reason.endswith(f"against {costs[0]:.2f}") for each in dearer)


def test_an_unknown_price_is_never_cheaper_than_a_known_one():
    offers = [replace(FEW[0], name="free?", usd_per_hour=None), FEW[1]]
    quote = chosen(offers=offers)
    assert quote.choice.offer.name == FEW[1].name
    alone = chosen(offers=offers[:1])
    assert alone.choice.cost.usd is None
    assert alone.warnings[0] == "price of free? is unknown: the cost is unknown, not zero"


def test_nothing_that_fits_is_no_choice_with_a_reason_for_each():
    small = [offer for offer in OFFERS if offer.gpu == "L4"]
    quote = chosen(QWEN_72B, offers=small)
    assert (quote.choice, quote.runners_up, quote.warnings) == (None, (), ())
    assert [each.reason[:13] for each in quote.rejected] == ["does not fit:"] * len(small)


def test_offers_without_a_gpu_are_not_asked():
    cpu = replace(FEW[0], name="cpu", gpu=None)
    assert chosen(offers=[cpu]).rejected == ()


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 100_000), st.integers(0, 100_000), st.sampled_from([None, 3600, 20_000]))
def test_more_images_never_cost_less(images, more, deadline_s):
    larger = chosen(images=images + more, offers=FEW, deadline_s=deadline_s).choice
    if larger is not None:
        smaller = chosen(images=images, offers=FEW, deadline_s=deadline_s).choice
        assert smaller.cost.usd <= larger.cost.usd


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 100_000), st.integers(700, 40_000))
def test_a_deadline_never_makes_it_cheaper(images, deadline_s):
    hurried = chosen(images=images, offers=FEW, deadline_s=deadline_s).choice
    if hurried is not None:
        assert chosen(images=images, offers=FEW).choice.cost.usd <= hurried.cost.usd
        assert hurried.duration.wall.high <= deadline_s


def test_what_a_gpu_was_measured_to_do_counts_for_its_offers_alone():
    known = {"H100": Measured(2, 1e-9, 1e-9, 1e-9, 10.0, 100.0)}
    quote = chosen(offers=FEW, known=known)
    assert quote.choice.gpu.name == "H100"
    assert quote.choice.duration.basis == "measured by 2 earlier jobs"


@pytest.mark.parametrize("dated", ["2026-06", "", "2026-09-01"])
def test_a_stale_price_is_told(dated):
    quote = chosen(offers=[replace(FEW[0], dated=dated)])
    assert any("over 60 days old or undated" in told for told in quote.warnings)


def test_a_fresh_and_complete_offer_needs_no_warning():
    offer = next(offer for offer in FEW if not gpus()[offer.gpu].estimated)
    fresh = replace(offer, dated="2026-11-29", granularity_s=1)
    assert chosen(offers=[fresh]).warnings == ()
    unknown = chosen(offers=[replace(fresh, granularity_s=None)])
    assert "counted in whole hours" in unknown.warnings[0]


def test_a_quantisation_that_vllm_cant_make_is_told():
    job = Workload(1000, ((1920, 1080),))
    quote = choose(QWEN_7B, "int8", job, FEW, Wish(), {}, TODAY)
    assert "no int8 checkpoint" in quote.warnings[0]


def test_endpoints_of_this_model_stand_beside_it_and_of_no_other():
    job = Workload(1000, ((1920, 1080),))
    names = [each.name for each in at_endpoints(QWEN_72B, job, tokens_of(QWEN_72B, job))]
    assert "openrouter/qwen2.5-vl-72b-instruct" in names
    assert "google/gemini-2.5-pro" in names
    assert "openrouter/qwen3-vl-8b-instruct" not in names


def test_an_endpoint_that_counts_pictures_is_asked_by_its_own_count():
    job = Workload(1000, ((1920, 1080),), prompt_tokens=100, max_output=200)
    gemini = find_endpoint("gemini-2.5-pro")
    assert endpoint_usd(gemini, job, tokens_of(QWEN_72B, job)) == token_price(
        gemini, 1000, 100 + 6 * 258, 100
    )
    uncounted = replace(gemini, image=None)
    ours = token_price(uncounted, 1000, 100 + 2691, 100)
    assert endpoint_usd(uncounted, job, tokens_of(QWEN_72B, job)) == ours
    assert ours > Decimal(0)
