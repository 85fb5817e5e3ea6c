"""Tokens of pictures, against the published processors' own counts."""

import pytest

from infra.catalogue.models import catalogued_models
from infra.errors import PlanRefused
from infra.planner.image_tokens import ImageTokens, count_image_tokens, largest_image_tokens

MODELS = catalogued_models()
QWEN_2_5 = MODELS["Qwen/Qwen2.5-VL-7B-Instruct"]
QWEN_3 = MODELS["Qwen/Qwen3-VL-8B-Instruct"]
INTERNVL = MODELS["OpenGVLab/InternVL3-8B"]
LLAVA = MODELS["llava-hf/llava-onevision-qwen2-7b-ov-hf"]
MINICPM = MODELS["openbmb/MiniCPM-V-4_5"]
LLAMA = MODELS["meta-llama/Llama-3.2-11B-Vision-Instruct"]
CAPPED = 1280 * 28 * 28

# picture: Qwen2.5-VL, Qwen2.5-VL with at most 1280 tokens, Qwen3-VL, InternVL3, LLaVA-OneVision
# and MiniCPM-V 4.5, each with its tokens and, where they are known, patches, tiles and sizes.
PUBLISHED = {
    (224, 224): ((64, 256), 64, (64, 256), (256, 1), (1485, 384, 384), 64),
    (448, 448): ((256, 1024), 256, (196, 784), (256, 1), (3699, 768, 768), 64),
    (512, 512): ((324, 1296), 324, (256, 1024), (256, 1), (3699, 768, 768), 192),
    (640, 480): ((391, 1564), 391, (300, 1200), (3328, 13), (2929, 768, 768), 192),
    (1024, 768): ((999, 3996), 999, (768, 3072), (3328, 13), (4725, 1152, 768), 320),
    (1024, 1024): ((1369, 5476), 1225, (1024, 4096), (2560, 10), (7371, 1152, 1152), 448),
    (1280, 720): ((1196, 4784), 1196, (880, 3520), (2304, 9), (5967, 1536, 768), 448),
    (1920, 1080): ((2691, 10764), 1222, (2040, 8160), (2304, 9), (7269, 1920, 1152), 576),
    (2048, 2048): ((5329, 21316), 1225, (4096, 16384), (2560, 10), (7371, 2304, 2304), 640),
    (3840, 2160): ((10549, 42196), 1222, (8160, 32640), (2304, 9), (7317, 2304, 1536), 576),
    (4096, 4096): ((16384, 65536), 1225, (16384, 65536), (2560, 10), (7371, 2304, 2304), 640),
    (867, 6771): ((7502, 30008), 1188, (5724, 22896), (2304, 9), (4293, 384, 2304), 576),
}
# The sides at which Qwen2.5-VL, the same with a bound, and Qwen3-VL see these pictures.
SIZES = {
    (512, 512): ((504, 504), (504, 504), (512, 512)),
    (640, 480): ((644, 476), (644, 476), (640, 480)),
    (1920, 1080): ((1932, 1092), (1316, 728), (1920, 1088)),
    (3840, 2160): ((3836, 2156), (1316, 728), (3840, 2176)),
    (4096, 4096): ((3584, 3584), (980, 980), (4096, 4096)),
    (867, 6771): ((868, 6776), (336, 2772), (864, 6784)),
}


def size(picture: ImageTokens) -> tuple[int, int]:
    return picture.model_width, picture.model_height


@pytest.mark.parametrize(("picture", "expected"), PUBLISHED.items())
def test_tokens_and_patches_are_those_of_the_published_processors(picture, expected):
    plain, capped, third = (
        count_image_tokens(QWEN_2_5, *picture),
        count_image_tokens(QWEN_2_5, *picture, max_pixels=CAPPED),
        count_image_tokens(QWEN_3, *picture),
    )
    tiled, llava = count_image_tokens(INTERNVL, *picture), count_image_tokens(LLAVA, *picture)
    assert (
        (plain.tokens, plain.patches),
        capped.tokens,
        (third.tokens, third.patches),
        (tiled.tokens, tiled.tiles),
        (llava.tokens, *size(llava)),
        count_image_tokens(MINICPM, *picture).tokens,
    ) == expected


@pytest.mark.parametrize(("picture", "expected"), SIZES.items())
def test_qwen_sees_pictures_at_the_published_sizes(picture, expected):
    seen = (
        count_image_tokens(QWEN_2_5, *picture),
        count_image_tokens(QWEN_2_5, *picture, max_pixels=CAPPED),
        count_image_tokens(QWEN_3, *picture),
    )
    assert tuple(size(each) for each in seen) == expected


def test_patches_and_tokens_are_not_taken_for_each_other():
    picture = count_image_tokens(QWEN_2_5, 512, 512)
    assert (picture.patches, picture.tokens) == (1296, 324)


def test_an_internvl_tile_is_1024_patches_and_an_overview_is_a_tile_too():
    picture = count_image_tokens(INTERNVL, 1024, 768)
    assert (picture.patches, picture.tiles, size(picture)) == (13 * 1024, 13, (4 * 448, 3 * 448))
    assert count_image_tokens(INTERNVL, 100, 100).tiles == 1


def test_minicpm_counts_the_patches_of_its_slices_at_their_own_shapes():
    picture = count_image_tokens(MINICPM, 2048, 2048)
    assert (picture.patches, picture.tiles) == (10 * 32 * 32, 10)
    assert size(count_image_tokens(MINICPM, 448, 448)) == (448, 448)


@pytest.mark.parametrize(
    ("picture", "tiles", "canvas"),
    [
        ((300, 300), 1, (560, 560)),
        ((640, 480), 2, (1120, 560)),
        ((600, 900), 4, (1120, 1120)),
        ((867, 6771), 4, (560, 2240)),
    ],
)
def test_llama_takes_1601_cross_attention_states_a_tile_and_no_room_in_the_prompt(
    picture, tiles, canvas
):
    seen = count_image_tokens(LLAMA, *picture)
    assert (seen.tiles, seen.tokens, size(seen)) == (tiles, tiles * 1601, canvas)
    assert not seen.in_prompt


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        (QWEN_2_5, 16384),
        (QWEN_3, 16384),
        (INTERNVL, 3328),
        (MINICPM, 640),
        (LLAMA, 6404),
        (LLAVA, 8765),
    ],
)
def test_the_largest_picture_is_known_for_every_rule(model, tokens):
    assert largest_image_tokens(model).tokens == tokens


def test_the_largest_llava_picture_has_more_than_nine_full_tiles():
    """Features are thinned out only from 1.1 times too many on a side."""
    assert count_image_tokens(LLAVA, 950, 1158).tokens == 8765
    assert count_image_tokens(LLAVA, 1024, 1024).tokens == 7371


def test_a_bound_lowers_the_largest_picture():
    assert largest_image_tokens(QWEN_2_5, max_pixels=CAPPED).tokens == 1280
    assert largest_image_tokens(INTERNVL, max_pixels=6 * 448**2).tokens == 7 * 256


@pytest.mark.parametrize("picture", [(0, 0), (0, 5), (-1, 5), (640, 0)])
@pytest.mark.parametrize("model", [QWEN_2_5, INTERNVL, LLAVA, MINICPM, LLAMA])
def test_a_picture_without_pixels_is_refused_in_one_line(model, picture):
    with pytest.raises(PlanRefused) as caught:
        count_image_tokens(model, *picture)
    wrong = f"{picture[0]}x{picture[1]}"
    assert str(caught.value) == f"image: {wrong} has no pixels; allowed: 1x1 and more"


@pytest.mark.parametrize("picture", [(201, 1), (1, 201), (20001, 100)])
def test_a_picture_200_times_as_long_as_wide_is_the_longest_that_qwen_takes(picture):
    with pytest.raises(PlanRefused, match=r"image: .* more than 200 times as long as wide"):
        count_image_tokens(QWEN_2_5, *picture)
    assert count_image_tokens(QWEN_2_5, 200, 1).tokens == 29
    assert count_image_tokens(INTERNVL, *picture).tokens > 0
