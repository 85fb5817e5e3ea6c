"""What holds for every picture, and that planner and worker see pictures alike."""

from hypothesis import assume, example, given
from hypothesis import strategies as st

from infra.catalogue.models import catalogued_models
from infra.planner.image_tokens import count_image_tokens, largest_image_tokens
from worker.families import Family

MODELS = catalogued_models()
QWEN_2_5 = MODELS["Qwen/Qwen2.5-VL-7B-Instruct"]
QWEN_3 = MODELS["Qwen/Qwen3-VL-8B-Instruct"]
INTERNVL = MODELS["OpenGVLab/InternVL3-8B"]
TILED = [
    MODELS["OpenGVLab/InternVL3-8B"],
    MODELS["llava-hf/llava-onevision-qwen2-7b-ov-hf"],
    MODELS["openbmb/MiniCPM-V-4_5"],
    MODELS["meta-llama/Llama-3.2-11B-Vision-Instruct"],
]
resized = st.sampled_from([QWEN_2_5, QWEN_3])
sides = st.integers(1, 12000)
bounds = st.one_of(
    st.just((None, None)),
    st.tuples(st.integers(1, 200_000), st.integers(200_000, 20_000_000)),
    st.integers(70_000, 400_000).map(lambda pixels: (pixels, pixels)),
)


def fits_qwen(width: int, height: int) -> bool:
    return max(width, height) <= 200 * min(width, height)


@given(resized, sides, sides, bounds)
@example(QWEN_2_5, 1, 200, (25088, 37632))
@example(QWEN_2_5, 15, 3000, (None, 50_000))
def test_the_planner_counts_the_very_size_that_the_worker_decodes_to(spec, width, height, pixels):
    assume(fits_qwen(width, height))
    low, high = pixels[0] or spec.image.min_pixels, pixels[1] or spec.image.max_pixels
    worker = Family(spec.image.factor, low, high, "model_pixels").model_size(width, height)
    seen = count_image_tokens(spec, width, height, *pixels)
    assert (seen.model_width, seen.model_height) == worker


@given(resized, sides, sides, bounds)
def test_tokens_are_squares_of_the_grid_and_patches_four_to_a_token(spec, width, height, pixels):
    assume(fits_qwen(width, height))
    seen = count_image_tokens(spec, width, height, *pixels)
    assert seen.tokens * spec.image.factor**2 == seen.model_width * seen.model_height
    assert seen.patches == 4 * seen.tokens


@given(resized, sides, sides)
def test_a_picture_of_the_models_own_size_stays_as_it_is(spec, width, height):
    """Thin ones aside: they can end above the pixel bounds, or too long for the model."""
    assume(max(width, height) <= 100 * min(width, height))
    seen = count_image_tokens(spec, width, height)
    assume(spec.image.min_pixels <= seen.model_width * seen.model_height <= spec.image.max_pixels)
    assert count_image_tokens(spec, seen.model_width, seen.model_height) == seen


@given(resized, sides, sides, st.integers(65536, 4_000_000), st.integers(0, 9_000_000))
def test_more_pixels_allowed_never_means_fewer_tokens(spec, width, height, high, more):
    """Of pictures at least one step wide: thinner ones are widened to it, and jump."""
    assume(fits_qwen(width, height) and min(width, height) >= spec.image.factor)
    lower = count_image_tokens(spec, width, height, None, high)
    higher = count_image_tokens(spec, width, height, None, high + more)
    assert lower.tokens <= higher.tokens


@given(sides, sides, st.integers(448**2, 12 * 448**2), st.integers(0, 6 * 448**2))
def test_more_tiles_allowed_never_means_fewer_tokens(width, height, high, more):
    lower = count_image_tokens(INTERNVL, width, height, max_pixels=high)
    assert (
        lower.tokens <= count_image_tokens(INTERNVL, width, height, max_pixels=high + more).tokens
    )


@given(resized, sides, sides, bounds)
@example(QWEN_2_5, 1, 200, (25088, 37632))
@example(QWEN_2_5, 100, 20000, (25088, 37632))
@example(QWEN_2_5, 41, 5908, (None, 211 * 784))
@example(QWEN_2_5, 600, 600, (1_000_000, 1_000_000))
def test_no_picture_is_larger_than_the_largest(spec, width, height, pixels):
    assume(fits_qwen(width, height))
    seen = count_image_tokens(spec, width, height, *pixels)
    assert seen.tokens <= largest_image_tokens(spec, *pixels).tokens


@given(st.sampled_from(TILED), sides, sides)
@example(TILED[1], 950, 1158)
@example(TILED[1], 1153, 944)
def test_no_picture_in_tiles_is_larger_than_the_largest(spec, width, height):
    seen = count_image_tokens(spec, width, height)
    assert 0 < seen.tokens <= largest_image_tokens(spec).tokens
    assert 1 <= seen.tiles <= 37


@given(sides, sides)
def test_a_picture_on_its_side_takes_as_many_tiles_of_llama(width, height):
    upright, aside = (
        count_image_tokens(TILED[3], *size) for size in ((width, height), (height, width))
    )
    assert upright.tiles == aside.tiles
