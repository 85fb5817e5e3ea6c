"""Boxes come back in pixels of the original upright picture, whatever space the model uses."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.rows import ImageFacts
from worker.boxes import map_boxes
from worker.errors import CheckError
from worker.families import QWEN_MIN_PIXELS, Family

PIXELS = Family(28, QWEN_MIN_PIXELS, 1280 * 28 * 28, "model_pixels")
RELATIVE = Family(32, 65536, 16777216, "relative_1000")


def facts(width: int, height: int, family: Family) -> ImageFacts:
    seen = family.model_size(width, height)
    return ImageFacts(
        format="jpeg",
        width=width,
        height=height,
        stored_width=width,
        stored_height=height,
        orientation=1,
        model_width=seen[0],
        model_height=seen[1],
    )


def mapped(box: object, width: int, height: int, family: Family) -> list[int]:
    return map_boxes({"bbox": box}, "bbox", facts(width, height, family), family)["bbox"]


def test_the_whole_picture_in_model_pixels_is_the_whole_original():
    assert facts(1920, 1080, PIXELS).model_width == 1316
    assert mapped([0, 0, 1316, 728], 1920, 1080, PIXELS) == [0, 0, 1920, 1080]


def test_the_whole_picture_in_thousandths_is_the_whole_original():
    assert mapped([0, 0, 1000, 1000], 1920, 1080, RELATIVE) == [0, 0, 1920, 1080]


sizes = st.integers(300, 5000)
edges = st.tuples(st.floats(0, 0.9), st.floats(0, 0.9), st.floats(0.02, 1), st.floats(0.02, 1))


@given(st.sampled_from([PIXELS, RELATIVE]), sizes, sizes, edges)
def test_a_box_comes_back_within_a_pixel(family, width, height, shares):
    original = [
        shares[0] * width,
        shares[1] * height,
        min(1, shares[0] + shares[2]) * width,
        min(1, shares[1] + shares[3]) * height,
    ]
    seen = facts(width, height, family)
    across, down = (seen.model_width, seen.model_height) if family is PIXELS else (1000, 1000)
    said = [
        edge / side * scale
        for edge, side, scale in zip(original, (width, height) * 2, (across, down) * 2, strict=True)
    ]
    assert mapped(said, width, height, family) == pytest.approx(original, abs=1)


def test_an_edge_beyond_the_picture_is_brought_to_its_rim():
    assert mapped([-5, -0.2, 1020, 500], 100, 200, RELATIVE) == [0, 0, 100, 100]


@pytest.mark.parametrize(
    "box",
    [
        [5, 5, 5, 9],
        [9, 5, 5, 9],
        [1, 2, 3],
        [1, 2, 3, 4, 5],
        "1,2,3,4",
        None,
        {"x1": 1},
        [1, 2, "3", 4],
        [True, False, True, True],
        [0, 0, math.nan, 4],
        [0, 0, math.inf, 4],
        [0, 0, 10**400, 4],
        [-(10**400), 0, 1, 4],
        [[0, 0], [1, 1], 2, 3],
    ],
)
def test_what_is_no_box_is_the_rows_error(box):
    with pytest.raises(CheckError) as caught:
        mapped(box, 1000, 1000, RELATIVE)
    assert (caught.value.code, caught.value.stage) == ("box_invalid", "check")


@pytest.mark.parametrize("box", [[1001, 0, 1100, 50], [0, -90, 10, -20], [500, 500, 500.1, 501]])
def test_a_box_without_a_pixel_of_the_picture_is_the_rows_error(box):
    with pytest.raises(CheckError, match="outside the picture"):
        mapped(box, 100, 100, RELATIVE)


def test_boxes_are_found_however_deep_and_everything_else_is_left_alone():
    output = {
        "verdict": "defective",
        "defects": [{"kind": "hole", "bbox": [0, 0, 500, 500]}],
        "parts": [[{"deep": {"bbox": [500, 500, 1000, 1000]}}]],
        "size": [1, 2, 3, 4],
        "note": None,
    }
    found = map_boxes(output, "bbox", facts(400, 300, RELATIVE), RELATIVE)
    assert found["defects"][0] == {"kind": "hole", "bbox": [0, 0, 200, 150]}
    assert found["parts"][0][0]["deep"]["bbox"] == [200, 150, 400, 300]
    assert found["size"] == [1, 2, 3, 4]
    assert list(found) == list(output)


def test_the_models_own_answer_is_not_changed():
    output = {"bbox": [0, 0, 500, 500]}
    map_boxes(output, "bbox", facts(400, 300, RELATIVE), RELATIVE)
    assert output == {"bbox": [0, 0, 500, 500]}
