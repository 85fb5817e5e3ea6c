"""Boxes from the model's space into pixels of the original upright picture. Part of the check."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from jobs.rows import Boxes, ImageFacts
from worker.errors import CheckError
from worker.families import Family

FARTHEST = 1e9  # an edge beyond it is no measure of any picture, and too much for a float
PICTURE = "picture"  # beside a box of a group: which of its pictures, from 1


def map_boxes(output: Any, field: str, facts: ImageFacts, family: Family) -> Any:
    """`output` with every value under `field` mapped; `CheckError` `box_invalid` for a bad box."""
    return BoxMap(field, (facts,), family).of(output)


@dataclass
class BoxMap:
    """Maps the boxes of one answer, and keeps what the model wrote, by its path."""

    name: str
    pictures: Sequence[ImageFacts]
    family: Family
    raw: dict[str, tuple[float, ...]] = field(default_factory=dict)

    def of(self, value: Any, path: str = "") -> Any:
        """`value` with its boxes in pixels of the original pictures; `value` stays as it is."""
        if isinstance(value, dict):
            return {name: self._inside(value, name, path) for name in value}
        if isinstance(value, list):
            return [self.of(item, f"{path}[{number}]") for number, item in enumerate(value)]
        return value

    def boxes(self) -> Boxes | None:
        return Boxes(space=self.family.boxes, raw=self.raw) if self.raw else None

    def _inside(self, parent: dict[str, Any], name: str, path: str) -> Any:
        where = f"{path}.{name}" if path else name
        if name != self.name:
            return self.of(parent[name], where)
        mapped = _mapped(parent[name], self._picture(parent), self.family)
        self.raw[where] = tuple(parent[name])
        return mapped

    def _picture(self, parent: dict[str, Any]) -> ImageFacts:
        if len(self.pictures) == 1:
            return self.pictures[0]
        number = parent.get(PICTURE)
        if type(number) is not int or not 1 <= number <= len(self.pictures):
            raise CheckError(
                "box_invalid",
                f"a box without its picture: {PICTURE} is {number!r}; allowed: 1 to "
                f"{len(self.pictures)}",
            )
        return self.pictures[number - 1]


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


def bounded(schema: dict[str, Any], name: str | None, family: Family) -> dict[str, Any]:
    """`schema` with edges of boxes bounded by the family's space, where it has a bound."""
    if name is None or family.boxes != "relative_1000":
        return schema
    copy = deepcopy(schema)
    _bound(copy, name)
    return copy


def _bound(node: Any, name: str) -> None:
    for key, inner in node.items() if isinstance(node, dict) else ():
        edge = inner.get("items") if key == name and isinstance(inner, dict) else None
        if isinstance(edge, dict) and edge.get("type") == "integer":
            edge["maximum"] = min(1000, edge.get("maximum", 1000))
        _bound(inner, name)
    for inner in node if isinstance(node, list) else ():
        _bound(inner, name)
