"""The sizes at which models see pictures, against published values and by property."""

import json
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from worker.errors import PictureError, ShardFailed
from worker.families import QWEN_MAX_PIXELS, QWEN_MIN_PIXELS, Family, load_family

QWEN_2_5 = Family(28, QWEN_MIN_PIXELS, QWEN_MAX_PIXELS, "model_pixels")
QWEN_2_5_1280 = Family(28, QWEN_MIN_PIXELS, 1280 * 28 * 28, "model_pixels")
QWEN_3 = Family(32, 65536, 16777216, "relative_1000")
BUNDLED = Family(28, 32 * 28 * 28, 48 * 28 * 28, "model_pixels")

# original, Qwen2.5-VL, Qwen2.5-VL with at most 1280 tokens, Qwen3-VL: from Qwen's own processors.
PUBLISHED = [
    ((224, 224), (224, 224), (224, 224), (256, 256)),
    ((448, 448), (448, 448), (448, 448), (448, 448)),
    ((512, 512), (504, 504), (504, 504), (512, 512)),
    ((640, 480), (644, 476), (644, 476), (640, 480)),
    ((1024, 768), (1036, 756), (1036, 756), (1024, 768)),
    ((1024, 1024), (1036, 1036), (980, 980), (1024, 1024)),
    ((1280, 720), (1288, 728), (1288, 728), (1280, 704)),
    ((1920, 1080), (1932, 1092), (1316, 728), (1920, 1088)),
    ((2048, 2048), (2044, 2044), (980, 980), (2048, 2048)),
    ((3840, 2160), (3836, 2156), (1316, 728), (3840, 2176)),
    ((4096, 4096), (3584, 3584), (980, 980), (4096, 4096)),
    ((867, 6771), (868, 6776), (336, 2772), (864, 6784)),
]
families = st.sampled_from([QWEN_2_5, QWEN_2_5_1280, QWEN_3, BUNDLED])
sides = st.integers(1, 20000)


def ratio(width: int, height: int) -> float:
    return max(width, height) / min(width, height)


@pytest.mark.parametrize(("original", "plain", "capped", "third"), PUBLISHED)
def test_sizes_are_those_of_the_published_processors(original, plain, capped, third):
    seen = [family.model_size(*original) for family in (QWEN_2_5, QWEN_2_5_1280, QWEN_3)]
    assert seen == [plain, capped, third]


@given(families, sides, sides)
@example(BUNDLED, 1, 200)
def test_both_sides_are_positive_multiples_of_the_factor(family, width, height):
    assume(ratio(width, height) <= 200)
    for side in family.model_size(width, height):
        assert side >= family.factor
        assert side % family.factor == 0


@given(families, sides, sides)
def test_pixels_are_within_the_bounds_unless_the_picture_is_thinner_than_a_patch(
    family, width, height
):
    assume(ratio(width, height) <= 20)
    w, h = family.model_size(width, height)
    thin = family.factor in (w, h)
    assert w * h <= family.max_pixels or thin
    slack = (w + family.factor) * (h + family.factor)  # rounding down may cost a row and a column
    assert slack >= family.min_pixels


@given(
    st.sampled_from([QWEN_2_5, QWEN_3]),
    st.tuples(st.integers(400, 1500), st.integers(400, 1500)),
    st.tuples(st.integers(0, 1500), st.integers(0, 1500)),
)
def test_between_the_bounds_a_larger_picture_is_never_seen_smaller(family, size, more):
    small = family.model_size(*size)
    large = family.model_size(size[0] + more[0], size[1] + more[1])
    assert small[0] <= large[0]
    assert small[1] <= large[1]


@given(families, sides, sides)
def test_a_picture_on_its_side_is_seen_on_its_side(family, width, height):
    assume(ratio(width, height) <= 200)
    assert family.model_size(height, width) == family.model_size(width, height)[::-1]


@pytest.mark.parametrize("size", [(499, 1), (1093, 5), (1, 201), (20001, 100)])
def test_a_ratio_above_200_is_refused_before_decoding(size):
    with pytest.raises(PictureError) as caught:
        QWEN_2_5.model_size(*size)
    assert caught.value.code == "aspect_ratio"
    assert f"{size[0]}x{size[1]}" in str(caught.value)


@pytest.mark.parametrize("size", [(27, 332), (1, 1), (690, 15420), (200, 1), (1, 200)])
def test_tiny_and_long_pictures_up_to_a_ratio_of_200_have_a_size(size):
    w, h = QWEN_2_5.model_size(*size)
    assert min(w, h) >= 28
    assert w * h >= QWEN_MIN_PIXELS


def write_model(folder: Path, model_type: str, **files: object) -> Path:
    (folder / "config.json").write_text(json.dumps({"model_type": model_type}))
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def test_the_factor_and_bounds_come_from_the_models_own_files(tmp_path):
    processor = {"patch_size": 16, "merge_size": 2, "min_pixels": 1024, "max_pixels": 4096}
    folder = write_model(tmp_path, "qwen3_vl", preprocessor_config=processor)
    assert load_family(folder, None, None) == Family(32, 1024, 4096, "relative_1000")


def test_a_processor_that_nests_its_image_settings_is_read_too(tmp_path):
    nested = {"image_processor": {"size": {"shortest_edge": 784, "longest_edge": 7840}}}
    folder = write_model(tmp_path, "qwen2_5_vl", processor_config=nested)
    assert load_family(folder, None, None) == Family(28, 784, 7840, "model_pixels")


def test_the_jobs_pixel_bounds_come_before_the_models(tmp_path):
    processor = {"min_pixels": 1024, "max_pixels": 4096}
    folder = write_model(tmp_path, "qwen2_vl", preprocessor_config=processor)
    assert load_family(folder, 2048, 8192) == Family(28, 2048, 8192, "relative_1000")


def test_a_model_without_a_processor_has_the_checkpoints_published_bounds(tmp_path):
    assert load_family(write_model(tmp_path, "qwen2_5_vl"), None, None) == QWEN_2_5


def test_an_unknown_family_is_refused_in_one_line_with_those_known(tmp_path):
    with pytest.raises(ShardFailed, match=r"'llava'; allowed: qwen2_vl, qwen2_5_vl") as caught:
        load_family(write_model(tmp_path, "llava"), None, None)
    assert "\n" not in str(caught.value)


@given(families, sides, sides, st.integers(1, 3000))
def test_a_budget_of_tokens_is_never_exceeded(family, width, height, tokens):
    assume(ratio(width, height) <= 20)
    seen = family.narrowed(tokens).model_size(width, height)
    thin = family.factor in seen
    assert family.tokens(*seen) <= tokens or thin or tokens < 4


@given(families, st.integers(300, 900), st.integers(300, 900))
def test_a_picture_below_the_budget_is_seen_as_without_one(family, width, height):
    plain = family.model_size(width, height)
    assert family.narrowed(10**6).model_size(width, height) == plain
    assert family.narrowed(None) is family


def test_a_model_says_itself_when_it_was_trained_on_another_spelling(tmp_path):
    compact = {"item_separator": ",", "key_separator": ":"}
    folder = write_model(tmp_path, "qwen2_5_vl", zeroshift={"answer_format": compact})
    answers = load_family(folder, None, None).answers
    assert (answers.item_separator, answers.key_separator) == (",", ":")


def test_a_spelling_that_there_is_not_is_refused_by_name(tmp_path):
    folder = write_model(tmp_path, "qwen2_5_vl", zeroshift={"answer_format": {"commas": 1}})
    with pytest.raises(ShardFailed, match=r"zeroshift\.json: answer_format"):
        load_family(folder, None, None)
