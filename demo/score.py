"""Answers against the truth: verdicts, kinds, boxes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from demo.defects import Defect
from demo.parts import Part

Box = Sequence[float]


@dataclass(frozen=True, slots=True)
class Score:
    """Shares of all pictures; `box_iou` is the median over true defects, 0 for one not found."""

    pictures: int
    verdict: float
    kinds: float
    box_iou: float


def score(answers: Iterable[tuple[Part, dict[str, Any] | None]]) -> Score:
    """Score pairs of truth and answer; no answer is a wrong one."""
    verdicts, kinds, ious = [], [], []
    for part, answer in answers:
        found = (answer or {}).get("defects", [])
        verdicts.append(bool(answer) and answer is not None and answer["verdict"] == part.verdict)
        said = sorted(defect["kind"] for defect in found)
        kinds.append(bool(answer) and said == sorted(d.kind for d in part.defects))
        ious.extend(_best_ious(part.defects, found))
    count = len(verdicts)
    if not count:
        return Score(0, 0.0, 0.0, 0.0)
    return Score(count, sum(verdicts) / count, sum(kinds) / count, median(ious) if ious else 0.0)


def _best_ious(truth: Sequence[Defect], found: Sequence[dict[str, Any]]) -> list[float]:
    """For each true defect the best overlap with a found one of its kind, each used once."""
    left, ious = list(found), []
    for defect in truth:
        rivals = [
            (iou(defect.box, each["bbox"]), i)
            for i, each in enumerate(left)
            if each["kind"] == defect.kind
        ]
        best, index = max(rivals, default=(0.0, -1))
        ious.append(best)
        if index >= 0 and best > 0:
            del left[index]
    return ious


def iou(a: Box, b: Box) -> float:
    """Intersection over union of two boxes `(x1, y1, x2, y2)`."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    common = width * height
    return common / (_area(a) + _area(b) - common)


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])
