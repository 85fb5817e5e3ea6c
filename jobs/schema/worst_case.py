"""The longest answer that a schema allows, in tokens, and where it has no end.

A character is counted as a token: more for plain text, where a token has several, and about right
for digits. So a derived `max_tokens` cuts no answer that the schema bounds; a model that writes
characters of several tokens each (rare scripts) can still be cut, and is asked again.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from jobs.schema.walk import Path, json_path, referred

UNBOUNDED = 256  # what an element without an end is counted as
NUMBER = 24  # digits, sign, point and exponent of a float
FORMATTED = 64  # a date, an address, a UUID
SHORTEST, LONGEST = 16, 4096  # of a derived max_tokens: above it only by the manifest's own word


@dataclass
class WorstCase:
    """`tokens` counts what has no end as 256; `unbounded` has paths and what is missing there."""

    tokens: int = 0
    unbounded: list[tuple[str, str]] = field(default_factory=list)


def worst_case(schema: dict[str, Any]) -> WorstCase:
    """The longest answer that `schema` allows."""
    found = WorstCase()
    try:
        found.tokens = _Counting(schema, found).longest(schema, (), ())
    except RecursionError:  # hundreds of references, each within the last
        found = WorstCase(UNBOUNDED, [("$", "an end to its nesting")])
    return found


def default_max_tokens(schema: dict[str, Any]) -> int:
    """`max_tokens` for a manifest that does not say."""
    return min(LONGEST, max(SHORTEST, worst_case(schema).tokens + 1))  # and one that ends it


@dataclass
class _Counting:
    whole: dict[str, Any]
    found: WorstCase
    counted: dict[str, int] = field(default_factory=dict)  # by reference: each is followed once

    def longest(self, node: Any, path: Path, through: tuple[str, ...]) -> int:
        if not isinstance(node, dict) or not node:
            return self._endless(path, "type")
        if "enum" in node or "const" in node:
            values = node.get("enum", [node.get("const")])
            return max((len(json.dumps(value)) for value in values), default=0)
        if "$ref" in node:
            return self._referred(str(node["$ref"]), path, through)
        for name in ("anyOf", "oneOf", "allOf"):
            if name in node:
                lengths = [
                    self.longest(inner, (*path, name, number), through)
                    for number, inner in enumerate(node[name])
                ]
                return sum(lengths) if name == "allOf" else max(lengths)
        kinds = node.get("type", "object" if "properties" in node else None)
        named = kinds if isinstance(kinds, list) else [kinds]
        return max(self._of_kind(kind, node, path, through) for kind in named)

    def _of_kind(self, kind: Any, node: dict[str, Any], path: Path, through: Any) -> int:
        match kind:
            case "boolean" | "null":
                return 5
            case "integer":
                return self._integer(node, path)
            case "number":
                return NUMBER
            case "string":
                return self._string(node, path)
            case "array":
                return self._array(node, path, through)
            case "object":
                return self._object(node, path, through)
        return self._endless(path, "type")

    def _integer(self, node: dict[str, Any], path: Path) -> int:
        low = node.get("minimum", node.get("exclusiveMinimum"))
        high = node.get("maximum", node.get("exclusiveMaximum"))
        if low is None or high is None:
            missing = [name for name, end in (("minimum", low), ("maximum", high)) if end is None]
            return self._endless(path, " and ".join(missing), NUMBER)
        return max(len(str(int(end))) for end in (low, high))

    def _string(self, node: dict[str, Any], path: Path) -> int:
        if "pattern" not in node and "format" in node:
            return FORMATTED
        if "maxLength" not in node or "pattern" in node:  # the grammar drops maxLength beside it
            return self._endless(path, "maxLength")
        return int(node["maxLength"]) + 2

    def _array(self, node: dict[str, Any], path: Path, through: tuple[str, ...]) -> int:
        fixed = [
            self.longest(inner, (*path, "prefixItems", number), through)
            for number, inner in enumerate(node.get("prefixItems", ()))
        ]
        if node.get("items") is False:
            return sum(fixed) + 2 * len(fixed) + 2
        each = self.longest(node.get("items"), (*path, "items"), through)
        if "maxItems" not in node:
            return self._endless(path, "maxItems", sum(fixed) + max(each, UNBOUNDED))
        return sum(fixed) + int(node["maxItems"]) * (each + 2) + 2

    def _object(self, node: dict[str, Any], path: Path, through: tuple[str, ...]) -> int:
        properties = node.get("properties")
        if not properties:
            return self._endless(path, "properties")
        return 2 + sum(
            len(json.dumps(name)) + 4 + self.longest(inner, (*path, "properties", name), through)
            for name, inner in properties.items()
        )

    def _referred(self, reference: str, path: Path, through: tuple[str, ...]) -> int:
        if reference in through:
            return self._endless(path, "an end to its recursion")
        if reference not in self.counted:
            inner = referred(reference, self.whole)
            self.counted[reference] = self.longest(inner, path, (*through, reference))
        return self.counted[reference]

    def _endless(self, path: Path, missing: str, counted: int = UNBOUNDED) -> int:
        place = (json_path(path), missing)
        if place not in self.found.unbounded:
            self.found.unbounded.append(place)
        return counted
