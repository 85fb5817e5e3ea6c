"""Boxes from the model's space into pixels of the original upright picture. Part of the check."""

from typing import Any

from jobs.rows import ImageFacts
from worker.errors import CheckError
from worker.families import Family

FARTHEST = 1e9  # an edge beyond it is no measure of any picture, and too much for a float


def map_boxes(output: Any, field: str, facts: ImageFacts, family: Family) -> Any:
    """`output` with every value under `field` mapped; `CheckError` `box_invalid` for a bad box."""
    if isinstance(output, dict):
        return {
            name: _mapped(value, facts, family)
            if name == field
            else map_boxes(value, field, facts, family)
            for name, value in output.items()
        }
    if isinstance(output, list):
        return [map_boxes(item, field, facts, family) for item in output]
    return output


def _mapped(box: Any, facts: ImageFacts, family: Family) -> list[int]:
    if not _is_box(box):
        raise CheckError("box_invalid", f"{box!r} is not [x1, y1, x2, y2] with x1 < x2, y1 < y2")
    seen_width, seen_height = facts.model_width, facts.model_height
    if family.boxes == "relative_1000":
        seen_width = seen_height = 1000
    across, down = facts.width / seen_width, facts.height / seen_height
    x1, x2 = (_clamped(x * across, facts.width) for x in (box[0], box[2]))
    y1, y2 = (_clamped(y * down, facts.height) for y in (box[1], box[3]))
    if x1 >= x2 or y1 >= y2:
        raise CheckError("box_invalid", f"{box!r} lies outside the picture")
    return [x1, y1, x2, y2]


def _is_box(box: Any) -> bool:
    if not isinstance(box, list) or len(box) != 4:
        return False
    numbers = all(type(edge) in (int, float) and abs(edge) < FARTHEST for edge in box)
    return numbers and box[0] < box[2] and box[1] < box[3]


def _clamped(value: float, largest: int) -> int:
    return min(largest, max(0, round(value)))
