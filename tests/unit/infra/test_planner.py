"""The plan: what is asked fits the offer, and one set of pixel bounds reaches the engine."""

from decimal import Decimal

import pytest

from infra.errors import PlanRefused
from infra.models.find import find_spec
from infra.offers import local_offer
from infra.planner.plan import MAX_CONTEXT, engine_settings, make_plan

MODEL = "zeroshift/parts-inspector"
SPEC = find_spec(MODEL)
OFFER = local_offer(Decimal("3.60"), cpus=2, max_nodes=2)


def test_a_plan_holds_offer_model_and_nodes():
    plan = make_plan(MODEL, OFFER, replicas=2)
    assert (plan.offer, plan.model.name, plan.nodes) == (OFFER, MODEL, 2)


def test_more_replicas_than_nodes_are_refused_with_the_range():
    with pytest.raises(PlanRefused) as caught:
        make_plan(MODEL, OFFER, replicas=3)
    assert str(caught.value) == (
        "hardware.replicas: 3 is more than offer 'local' has nodes; allowed: 1 to 2"
    )


def test_a_missing_model_is_refused_by_the_plan():
    with pytest.raises(PlanRefused, match=r"^model: 'nope/nope'"):
        make_plan("nope/nope", OFFER, replicas=1)


@pytest.mark.parametrize(("context", "length"), [(1024, 1024), (128000, MAX_CONTEXT)])
def test_the_context_is_the_models_but_no_more_than_an_answer_needs(context, length):
    assert engine_settings(SPEC, context, None, None)["max_model_len"] == length


def test_videos_are_off_so_that_no_memory_is_kept_for_them():
    assert engine_settings(SPEC, 1024, None, None)["limit_mm_per_prompt"] == {
        "image": 1,
        "video": 0,
    }


def test_the_jobs_pixel_bounds_reach_the_engine():
    processor = make_plan(MODEL, OFFER, 1, 1000, 2000).engine["mm_processor_kwargs"]
    assert (processor["min_pixels"], processor["max_pixels"]) == (1000, 2000)


def test_bounds_that_were_not_given_are_left_to_the_model():
    processor = make_plan(MODEL, OFFER, 1, None, 30_000).engine["mm_processor_kwargs"]
    assert "min_pixels" not in processor
    assert processor["max_pixels"] == 30_000


def test_the_engine_resizes_nothing_again():
    assert engine_settings(SPEC, 1024, None, None)["mm_processor_kwargs"] == {"do_resize": False}
