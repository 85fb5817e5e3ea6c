"""What of an answer can be filtered by, and where its boxes are: read from the task's schema."""

from collections.abc import Iterator, Sequence
from typing import Any

from jobs.schema.walk import referred

MOST_FACETS = 6
DEEPEST = 12  # levels of an answer or a schema that are looked through
SIDES = 4  # of a box: left, top, right, bottom

Path = tuple[str, ...]
Box = tuple[float, float, float, float, str, int]  # sides in upright pixels, label, picture from 1


def facets(schema: dict[str, Any]) -> list[Path]:
    """Paths of the closed choices (enums and booleans), outer ones first; lists are passed through:
    `("defects", "kind")` stands for the kind of every defect."""
    found = dict.fromkeys(_choices(schema, schema, ()))
    return sorted(found, key=len)[:MOST_FACETS]


def _choices(node: Any, whole: dict[str, Any], path: Path, depth: int = 0) -> Iterator[Path]:
    if not isinstance(node, dict) or depth > DEEPEST:
        return
    if path and (node.get("type") == "boolean" or _is_closed(node)):
        yield path
        return
    for name, inner in (node.get("properties") or {}).items():
        yield from _choices(inner, whole, (*path, name), depth + 1)
    beside = [node.get("items"), *(node.get("prefixItems") or ())]
    for kind in ("anyOf", "oneOf", "allOf"):
        beside += node.get(kind) or ()
    if isinstance(node.get("$ref"), str):
        beside.append(referred(node["$ref"], whole))
    for inner in beside:
        yield from _choices(inner, whole, path, depth + 1)


def _is_closed(node: dict[str, Any]) -> bool:
    values = node.get("enum")
    return isinstance(values, list) and all(isinstance(each, str | int | bool) for each in values)


def boxes(output: Any, box_field: str | None) -> list[Box]:
    """Every box in an answer, with the text that stands beside it; none where no key is known to
    be one."""
    return list(_boxes(output, box_field, DEEPEST)) if box_field else []


def _boxes(value: Any, box_field: str, levels: int) -> Iterator[Box]:
    if isinstance(value, list) and levels:
        for inner in value:
            yield from _boxes(inner, box_field, levels - 1)
    if not isinstance(value, dict) or not levels:
        return
    for name, inner in value.items():
        if name == box_field and _is_box(inner):
            picture = value.get("picture")
            number = picture if isinstance(picture, int) and picture > 0 else 1
            left, top, right, bottom = inner
            yield left, top, right, bottom, _label(value, box_field), number
        else:
            yield from _boxes(inner, box_field, levels - 1)


def _is_box(value: Any) -> bool:
    return isinstance(value, list) and len(value) == SIDES and all(map(_is_number, value))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _label(beside: dict[str, Any], box_field: str) -> str:
    texts: Sequence[str] = [each for each in beside.values() if isinstance(each, str)]
    return texts[0] if texts else box_field
