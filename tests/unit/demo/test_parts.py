"""Synthetic parts: the same for a seed, with truth that lies on the picture, and balanced kinds."""

from collections import Counter

import numpy as np
import pytest

from demo.defects import KINDS
from demo.parts import SHAPES, Part, draw_part

SIZES = [(200, 150), (150, 200), (160, 160)]


@pytest.fixture(scope="module")
def many() -> list[Part]:
    return [draw_part(seed, *SIZES[seed % 3]) for seed in range(180)]


@pytest.mark.parametrize("size", SIZES)
def test_a_seed_and_a_size_give_the_same_picture_each_time(size):
    first, second = draw_part(7, *size), draw_part(7, *size)
    assert first.image.tobytes() == second.image.tobytes()
    assert (first.defects, first.shape) == (second.defects, second.shape)


def test_drawing_does_not_depend_on_what_was_drawn_before():
    alone = draw_part(3, 300, 300)
    np.random.default_rng(0).random(10)
    draw_part(4, 300, 300)
    assert draw_part(3, 300, 300).image.tobytes() == alone.image.tobytes()


def test_seeds_differ():
    assert draw_part(1, 300, 300).image.tobytes() != draw_part(2, 300, 300).image.tobytes()


def test_a_picture_has_the_size_that_was_asked_for_in_eight_bit_colour(many):
    for seed, part in enumerate(many):
        assert part.image.size == SIZES[seed % 3]
        assert part.image.mode == "RGB"


def test_true_boxes_lie_inside_the_picture(many):
    for part in many:
        width, height = part.image.size
        for x1, y1, x2, y2 in (defect.box for defect in part.defects):
            assert 0 <= x1 < x2 <= width
            assert 0 <= y1 < y2 <= height


def test_defects_do_not_touch_one_another(many):
    pairs = [part.defects for part in many if len(part.defects) == 2]
    assert pairs
    for a, b in [(first.box, second.box) for first, second in pairs]:
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_defects_are_sorted_by_kind_and_then_from_the_left(many):
    assert all(list(part.defects) == sorted(part.defects) for part in many)


def test_the_verdict_says_whether_there_are_defects(many):
    assert {(part.verdict, bool(part.defects)) for part in many} == {
        ("ok", False),
        ("defective", True),
    }


def test_all_kinds_are_about_equally_common(many):
    kinds = Counter(defect.kind for part in many for defect in part.defects)
    assert set(kinds) == set(KINDS)
    assert max(kinds.values()) < 2 * min(kinds.values())


def test_all_shapes_and_numbers_of_defects_occur(many):
    assert {part.shape for part in many} == set(SHAPES)
    numbers = Counter(len(part.defects) for part in many)
    assert set(numbers) == {0, 1, 2}
    assert min(numbers.values()) > len(many) / 10


def test_a_hole_is_darker_than_its_surroundings():
    holes = [
        (np.asarray(part.image.convert("L"), float), defect.box)
        for part in (draw_part(seed, 200, 200) for seed in range(60))
        for defect in part.defects
        if defect.kind == "hole"
    ]
    assert holes
    for pixels, (x1, y1, x2, y2) in holes:
        around = pixels[max(0, y1 - 6) : y2 + 6, max(0, x1 - 6) : x2 + 6]
        assert pixels[(y1 + y2) // 2, (x1 + x2) // 2] < np.median(around)
