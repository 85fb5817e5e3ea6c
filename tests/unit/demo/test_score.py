"""Scores: no answer is a wrong answer, and a box counts once."""

import pytest
from PIL import Image

from demo.batch import CAMERAS, shots
from demo.defects import Defect
from demo.parts import Part
from demo.score import iou, score

PICTURE = Image.new("RGB", (100, 100))
GOOD = Part(PICTURE, "disc", ())
BAD = Part(PICTURE, "disc", (Defect("dent", (0, 0, 10, 10)), Defect("hole", (50, 50, 60, 60))))


def said(*found: tuple[str, tuple[int, ...]]) -> dict:
    defects = [{"kind": kind, "bbox": list(box)} for kind, box in found]
    return {"verdict": "defective" if found else "ok", "defects": defects}


def test_right_answers_score_one():
    truth = said(*((d.kind, d.box) for d in BAD.defects))
    perfect = score([(GOOD, said()), (BAD, truth)])
    assert (perfect.pictures, perfect.verdict, perfect.kinds, perfect.box_iou) == (2, 1, 1, 1)


def test_no_answer_is_a_wrong_one():
    none = score([(GOOD, None), (BAD, None)])
    assert (none.verdict, none.kinds, none.box_iou) == (0, 0, 0)


def test_no_pictures_score_nothing():
    assert score([]).pictures == 0


def test_a_defect_that_was_not_found_counts_as_no_overlap():
    half = score([(BAD, said(("dent", (0, 0, 10, 10))))])
    assert half.box_iou == 0.5
    assert (half.verdict, half.kinds) == (1, 0)


def test_a_box_of_another_kind_does_not_count():
    assert score([(BAD, said(("hole", (0, 0, 10, 10))))]).box_iou == 0


def test_one_answer_is_not_counted_for_two_defects():
    twins = Part(PICTURE, "disc", (Defect("dent", (0, 0, 10, 10)), Defect("dent", (0, 0, 10, 10))))
    assert score([(twins, said(("dent", (0, 0, 10, 10))))]).box_iou == 0.5


@pytest.mark.parametrize(
    ("other", "share"),
    [((0, 0, 10, 10), 1), ((5, 0, 15, 10), 1 / 3), ((10, 0, 20, 10), 0), ((2, 2, 4, 4), 0.04)],
)
def test_overlap_is_intersection_over_union(other, share):
    assert iou((0, 0, 10, 10), other) == pytest.approx(share)
    assert iou(other, (0, 0, 10, 10)) == pytest.approx(share)


def test_a_batch_is_the_same_each_time_and_named_in_order():
    first, second = list(shots(3, 40)), list(shots(3, 40))
    assert [shot.body for shot in first] == [shot.body for shot in second]
    assert [shot.name[:5] for shot in first] == [f"{n:05d}" for n in range(3)]


def test_a_batchs_files_are_what_their_names_and_types_say():
    for shot in shots(4, 10):
        kind = "image/png" if shot.body.startswith(b"\x89PNG") else "image/jpeg"
        assert shot.media_type == kind
        assert shot.part.image.size in [size for size, _ in CAMERAS]


def test_the_cameras_shares_are_all_pictures():
    assert sum(share for _, share in CAMERAS) == pytest.approx(1)
