"""The planner's front door: what people write, read; and offers narrowed to what they asked for."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.catalogue.models import catalogued_models
from infra.catalogue.offers import catalogued_offers
from infra.errors import PlanRefused
from infra.planner.ask import (
    USUAL_GPUS,
    Limits,
    Request,
    judged,
    quote,
    read_duration,
    read_quantization,
    read_size,
    variant,
)
from infra.planner.judge import Given
from infra.planner.workload import Workload, tokens_of

MODELS = catalogued_models()
QWEN_7B = MODELS["Qwen/Qwen2.5-VL-7B-Instruct"]
AWQ = MODELS["Qwen/Qwen2.5-VL-7B-Instruct-AWQ"]
LLAMA = MODELS["meta-llama/Llama-3.2-11B-Vision-Instruct"]
WORK = Workload(1000, ((1920, 1080),))
OFFERS = catalogued_offers()


def asked(limits, spec=QWEN_7B, quantization=None):
    return quote(Request(spec, WORK, quantization), limits, OFFERS, date(2026, 11, 30))


def everything(found):
    taken = [each.offer.name for each in (found.choice, *found.runners_up) if each]
    return {*taken, *(each.offer for each in found.rejected)}


@given(st.integers(1, 99_999), st.integers(1, 99_999))
def test_a_size_is_read_with_either_kind_of_cross(width, height):
    assert read_size(f"{width}x{height}") == (width, height)
    assert read_size(f" {width}\u00d7{height} ") == (width, height)


@pytest.mark.parametrize("text", ["", "1920", "1920x", "1920*1080", "axb", "1.5x2"])
def test_what_is_no_size_is_refused_with_the_form(text):
    with pytest.raises(PlanRefused, match="allowed: WIDTHxHEIGHT in pixels, as 1920x1080"):
        read_size(text)


@pytest.mark.parametrize("text", ["0x0", "0x10", "-5x10", "10x-1"])
def test_a_picture_without_pixels_is_refused(text):
    with pytest.raises(PlanRefused, match=rf"^image: {text} has no pixels; allowed: 1x1 and more"):
        read_size(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("30m", 1800), ("2h", 7200), ("1.5h", 5400), ("1d", 86_400)],
)
def test_a_time_is_read_in_its_unit(text, seconds):
    assert read_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "0h", "-2h", "two hours", "2w", "h", "1h30m"])
def test_what_is_no_time_is_refused_with_examples(text):
    with pytest.raises(PlanRefused, match=r"^deadline: found .*; allowed: a time such as 90s, 30m"):
        read_duration(text)


def test_a_quantisation_is_one_of_four_or_the_checkpoints():
    assert read_quantization("fp8") == "fp8"
    assert read_quantization(None) is None
    with pytest.raises(PlanRefused, match="found 'int4'; allowed: none, fp8, awq, int8"):
        read_quantization("int4")


def test_the_published_checkpoint_of_a_quantisation_is_taken():
    assert variant(QWEN_7B, "awq") == (AWQ, "awq")
    assert variant(QWEN_7B, "fp8") == (QWEN_7B, "fp8")
    assert variant(QWEN_7B, None) == (QWEN_7B, "none")
    assert variant(AWQ, None) == variant(AWQ, "awq") == (AWQ, "awq")


@pytest.mark.parametrize("quantization", ["none", "fp8", "int8"])
def test_a_quantised_checkpoint_is_not_planned_as_another(quantization):
    with pytest.raises(PlanRefused, match="is stored as awq"):
        variant(AWQ, quantization)
    with pytest.raises(PlanRefused, match="is stored as awq"):
        judged(Request(AWQ, WORK, quantization), "H100", Given(), OFFERS)


def test_gpus_and_regions_narrow_the_offers():
    found = asked(Limits(gpus=("h200", "H100-SXM-80GB"), regions=("eu-*",)))
    allowed = {o.name for o in OFFERS if o.gpu in ("H200", "H100") and o.eu}
    assert everything(found) == allowed != set()


def test_spot_takes_only_offers_with_a_known_spot_price():
    known = {o.name for o in OFFERS if o.gpu and o.spot_usd_per_hour is not None}
    assert everything(asked(Limits(gpus=("any",), spot=True))) == known != set()


def test_kinds_that_are_not_the_usual_are_taken_when_they_are_asked_for():
    unusual = [each for each in asked(Limits()).rejected if "when asked for" in each.reason]
    assert {each.gpu for each in unusual} == {o.gpu for o in OFFERS if o.gpu} - set(USUAL_GPUS)
    assert unusual[0].reason == f"taken only when asked for: --gpu {unusual[0].gpu}"
    assert everything(asked(Limits(gpus=("B200",)))) == {o.name for o in OFFERS if o.gpu == "B200"}


def test_an_offer_outside_the_region_is_not_told_to_be_there_for_the_asking():
    eu = {o.name for o in OFFERS if o.gpu and o.eu}
    assert everything(asked(Limits(regions=("eu-*",)))) <= eu


def test_limits_that_no_offer_meets_are_refused_in_the_users_words():
    with pytest.raises(PlanRefused) as caught:
        asked(Limits(gpus=("H200",), regions=("mars-*",)))
    assert str(caught.value) == "no offer of H200 in mars-*; see zeroshift offers"


def test_a_gpu_that_does_not_exist_is_refused_with_the_nearest():
    with pytest.raises(PlanRefused, match=r"^gpu: no GPU 'H1000'; did you mean H100"):
        asked(Limits(gpus=("H1000",)))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"images": 0}, "images: found 0; allowed: 1 and more"),
        ({"prompt_tokens": -1}, "prompt-tokens: found -1; allowed: 0 and more"),
        ({"max_output": 0}, "max-output-tokens: found 0; allowed: 1 and more"),
        ({"concurrency": -3}, "concurrency: found -3; allowed: 1 and more"),
        ({"pictures": 0}, "pictures: found 0; allowed: 1 and more"),
        ({"sizes": ()}, "image: no picture size is known; allowed: one size or more"),
    ],
)
def test_a_job_that_makes_no_sense_is_refused_in_one_line(wrong, message):
    with pytest.raises(PlanRefused) as caught:
        Workload(**{"images": 1, "sizes": ((10, 10),), **wrong})
    assert str(caught.value) == message


def test_answers_take_half_of_the_longest_until_a_job_has_measured_them():
    assert Workload(1, ((10, 10),), max_output=500).output_tokens == 250
    assert Workload(1, ((10, 10),), max_output=500, mean_output=80.5).output_tokens == 80.5


def test_a_question_is_its_pictures_what_is_around_them_text_and_answer():
    tokens = tokens_of(QWEN_7B, Workload(1, ((1920, 1080),), pictures=2))
    assert tokens.sequence == 2 * (2691 + 2) + 256 + 256
    assert tokens.longest == 2 * (16_384 + 2) + 256 + 512


def test_pictures_that_are_cross_attended_to_take_no_place_in_the_prompt():
    tokens = tokens_of(LLAMA, WORK)
    assert tokens.distribution.mean > 6000
    assert tokens.sequence < 600
