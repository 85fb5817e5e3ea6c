"""Answers against labels: confusion, precision and recall, boxes, and whether confidence is due."""

import json
from typing import Any

import pytest

from jobs.closing.evaluate import evaluate, iou
from jobs.rows import Row, RowError
from jobs.tasks import PRESETS

SCHEMA = PRESETS["inspection"].schema
DENT = {"kind": "dent", "bbox": [0, 0, 100, 100]}
NEAR = {"kind": "dent", "bbox": [0, 0, 100, 80]}
FAR = {"kind": "dent", "bbox": [500, 500, 600, 600]}
HOLE = {"kind": "hole", "bbox": [0, 0, 100, 100]}


def row(name: str, *defects: dict, sure: float | None = None, **more: Any) -> Row:
    output = {"verdict": "defective" if defects else "ok", "defects": list(defects)}
    confidence = None if sure is None else {"verdict": sure}
    return Row(
        **{"key": name, "version": "e", "status": "ok", "output": output, "confidence": confidence},
        **more,
    )


def label(*defects: dict) -> dict:
    return {"verdict": "defective" if defects else "ok", "defects": list(defects)}


def test_verdicts_are_counted_by_label_and_answer():
    rows = [row("a"), row("b", DENT), row("c", DENT), row("d")]
    labels = {"a": label(), "b": label(DENT), "c": label(), "d": label(DENT)}
    found = evaluate(rows, labels, SCHEMA).to_dict()["fields"]["verdict"]
    assert found["accuracy"] == 0.5
    assert found["confusion"] == {
        "ok": {"ok": 1, "defective": 1},
        "defective": {"ok": 1, "defective": 1},
    }


@pytest.mark.parametrize(
    ("found", "there", "dents"),
    [
        ([NEAR], [DENT], (1, 0, 0)),
        ([FAR], [DENT], (0, 1, 1)),
        ([], [DENT], (0, 0, 1)),
        ([DENT], [], (0, 1, 0)),
        ([DENT, NEAR], [DENT], (1, 1, 0)),
        ([HOLE], [DENT], (0, 0, 1)),
    ],
)
def test_defects_are_matched_by_kind_and_box_each_once(found, there, dents):
    report = evaluate([row("a", *found)], {"a": label(*there)}, SCHEMA)
    count = report.kinds["dent"]
    assert (count.right, count.wrong, count.missed) == dents


def test_precision_recall_and_overlap_are_told_by_kind():
    rows = [row("a", NEAR, HOLE), row("b", DENT)]
    plain = evaluate(rows, {"a": label(DENT), "b": label(DENT, FAR)}, SCHEMA).to_dict()
    assert plain["kinds"]["dent"]["precision"] == 1
    assert plain["kinds"]["dent"]["recall"] == pytest.approx(2 / 3)
    assert plain["kinds"]["hole"]["precision"] == 0
    assert plain["kinds"]["hole"]["recall"] is None
    assert plain["boxes"] == {"matched": 2, "median_iou": 0.9, "mean_iou": pytest.approx(0.9)}
    json.dumps(plain)


def test_a_model_that_is_as_sure_as_it_is_right_has_no_calibration_error():
    rows = [row(f"{n}", DENT, sure=0.75) for n in range(4)]
    labels = {f"{n}": label(DENT) if n else label() for n in range(4)}
    report = evaluate(rows, labels, SCHEMA)
    assert report.calibration_error == 0
    [place] = report.to_dict()["reliability"]
    assert place == {"from": 0.7, "count": 4, "confidence": 0.75, "right": 0.75}


def test_a_model_that_is_sure_and_wrong_is_found_out():
    report = evaluate(
        [row("a", sure=1.0), row("b", sure=1.0)], {"a": label(), "b": label(DENT)}, SCHEMA
    )
    assert report.calibration_error == 0.5


def test_errors_count_as_unanswered_and_rows_without_a_label_are_not_judged():
    error = RowError(code="refusal", stage="check", message="no", retryable=False)
    bad = Row(key="a", version="e", status="error", error=error)
    report = evaluate([bad, row("b"), row("c")], {"a": label(), "b": label()}, SCHEMA)
    assert (report.labelled, report.answered, report.unanswered, report.unlabelled) == (2, 1, 1, 1)


def test_labels_may_stand_in_the_index_and_may_tell_a_part():
    report = evaluate([row("a", DENT, fields={"label": {"verdict": "ok"}})], {}, SCHEMA)
    assert report.accuracy("verdict") == 0
    assert report.kinds == {}
    assert report.calibration_error is None


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        ([0, 0, 10, 10], [0, 0, 10, 10], 1),
        ([0, 0, 10, 10], [5, 0, 15, 10], 1 / 3),
        ([0, 0, 10, 10], [10, 0, 20, 10], 0),
        ([0, 0, 10, 10], [20, 20, 30, 30], 0),
        ([0, 0, 0, 0], [0, 0, 0, 0], 0),
    ],
)
def test_overlap_is_intersection_over_union(one, other, share):
    assert iou(one, other) == iou(other, one) == pytest.approx(share)
