"""Tokens over a job's pictures, what bounds save, and which bounds a model takes."""

import pytest

from infra.catalogue.models import catalogued_models
from infra.errors import PlanRefused
from infra.planner.image_tokens import count_image_tokens, distribution, reductions
from infra.planner.pixel_bounds import pixel_settings

MODELS = catalogued_models()
QWEN = MODELS["Qwen/Qwen2.5-VL-7B-Instruct"]
INTERNVL = MODELS["OpenGVLab/InternVL3-8B"]
LLAVA = MODELS["llava-hf/llava-onevision-qwen2-7b-ov-hf"]
MINICPM = MODELS["openbmb/MiniCPM-V-4_5"]
LLAMA = MODELS["meta-llama/Llama-3.2-11B-Vision-Instruct"]
SQUARE, SCREEN = (512, 512), (1920, 1080)


def refusal(spec, *size, **bounds) -> str:
    with pytest.raises(PlanRefused) as caught:
        count_image_tokens(spec, *size, **bounds)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_distribution_is_of_tokens_by_nearest_rank():
    found = distribution(QWEN, [SQUARE] * 18 + [SCREEN, (224, 224)])
    assert (found.count, found.min, found.median, found.p95, found.max) == (20, 64, 324, 324, 2691)
    assert found.mean == (18 * 324 + 2691 + 64) / 20
    assert found.patches_mean == 4 * found.mean


def test_one_picture_is_its_own_distribution():
    found = distribution(QWEN, [SCREEN], max_pixels=1280 * 784)
    assert found.min == found.median == found.p95 == found.max == found.mean == 1222


def test_pictures_that_the_model_refuses_are_left_out_and_counted():
    found = distribution(QWEN, [(5000, 2), SQUARE])
    assert (found.count, found.too_long, found.max) == (1, 1, 324)
    assert distribution(INTERNVL, [(5000, 2), SQUARE]).too_long == 0


@pytest.mark.parametrize("sizes", [[], [(5000, 2)], [(0, 0)], [SQUARE, (0, 10)]])
def test_a_job_without_a_picture_to_count_is_refused(sizes):
    with pytest.raises(PlanRefused, match=r"image: .*allowed"):
        distribution(QWEN, sizes)


def test_each_step_of_a_bound_says_what_it_saves():
    rows = reductions(QWEN, [SCREEN])
    assert [row.max_pixels // 784 for row in rows] == [256, 512, 1024, 2048]
    assert [row.mean_tokens for row in rows] == [252, 480, 1008, 1980]
    assert rows[0].saved == pytest.approx(1 - 252 / 2691)


def test_steps_that_save_nothing_or_lie_below_what_pictures_are_grown_to_are_left_out():
    assert reductions(QWEN, [(224, 224)]) == ()
    rows = reductions(QWEN, [SCREEN], [784, 784 * 300, 10**7], min_pixels=784 * 100)
    assert [row.max_pixels for row in rows] == [784 * 300]


def test_internvl_saves_by_the_tile_and_the_other_tilings_not_at_all():
    rows = reductions(INTERNVL, [SCREEN])
    assert [(row.max_pixels // 448**2, row.mean_tokens) for row in rows] == [
        (1, 256),
        (2, 768),
        (4, 768),
    ]
    assert all(reductions(spec, [SCREEN]) == () for spec in (LLAVA, MINICPM, LLAMA))


def test_bounds_reach_the_engine_as_it_takes_them():
    assert pixel_settings(QWEN) == pixel_settings(INTERNVL) == pixel_settings(LLAVA) == {}
    assert pixel_settings(QWEN, 25088, 37632) == {"min_pixels": 25088, "max_pixels": 37632}
    assert pixel_settings(INTERNVL, max_pixels=6 * 448**2 + 5) == {"max_dynamic_patch": 6}


@pytest.mark.parametrize("spec", [LLAVA, MINICPM, LLAMA], ids=lambda spec: spec.family)
def test_a_bound_that_a_model_can_not_take_is_refused_by_name(spec):
    assert f"image.max_pixels: {spec.name} cuts" in refusal(spec, *SQUARE, max_pixels=10**6)
    assert "image.min_pixels" in refusal(spec, *SQUARE, min_pixels=10**6)
    with pytest.raises(PlanRefused, match=r"image\.max_pixels"):
        pixel_settings(spec, max_pixels=10**6)


def test_tiles_have_no_lower_bound():
    assert "image.min_pixels: OpenGVLab/InternVL3-8B" in refusal(INTERNVL, *SQUARE, min_pixels=1)


@pytest.mark.parametrize(
    ("spec", "bounds", "allowed"),
    [
        (QWEN, {"max_pixels": 783}, "allowed: 784 and more"),
        (QWEN, {"max_pixels": -1}, "allowed: 784 and more"),
        (QWEN, {"min_pixels": 0}, "allowed: 1 and more"),
        (QWEN, {"max_pixels": 3000}, "allowed: min <= max"),
        (QWEN, {"min_pixels": 20_000_000}, "allowed: min <= max"),
        (INTERNVL, {"max_pixels": 448**2 - 1}, f"allowed: {448**2} and more"),
    ],
)
def test_bounds_that_no_picture_can_keep_are_refused(spec, bounds, allowed):
    assert allowed in refusal(spec, *SQUARE, **bounds)
