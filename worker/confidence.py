"""How sure the model was of each choice: from the probabilities of its tokens. Part of the check.

The probability of a value is that of all tokens that its text overlaps. Under a grammar, tokens
that it forbids count nothing, so it is the probability among the values that the schema allows.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jobs.schema.walk import referred
from worker.engines.base import Answer

SPACE = " \t\r\n"
Span = tuple[str, int, int]


def confidence(answer: Answer, offset: int, schema: dict[str, Any]) -> dict[str, float]:
    """The probability of each value with a closed choice (enum, boolean), by its path.

    offset   where in the answer's text the JSON begins; it must be valid by `schema`
    """
    document = answer.text[offset:]
    return {
        path: round(_probability(answer, start + offset, end + offset), 6)
        for path, start, end in _Choices(document, schema).spans()
    }


def _probability(answer: Answer, start: int, end: int) -> float:
    total, begins = 0.0, 0
    for ends, logprob in zip(answer.ends, answer.logprobs, strict=True):
        if begins < end and ends > start:
            total += logprob
        begins = ends
    return min(1.0, math.exp(total))


def is_choice(node: dict[str, Any]) -> bool:
    return "enum" in node or node.get("type") == "boolean"


@dataclass
class _Choices:
    """Walks a valid JSON text and its schema side by side."""

    text: str
    schema: dict[str, Any]

    def spans(self) -> Iterator[Span]:
        self._decoder = json.JSONDecoder()
        yield from self._value(self._skip(0), "", [self.schema])[1]

    def _skip(self, at: int) -> int:
        while at < len(self.text) and self.text[at] in SPACE:
            at += 1
        return at

    def _value(self, at: int, path: str, nodes: list[Any]) -> tuple[int, list[Span]]:
        nodes = [each for node in nodes for each in self._open(node, 0)]
        if self.text[at] == "{":
            return self._object(at, path, nodes)
        if self.text[at] == "[":
            return self._array(at, path, nodes)
        _, end = self._decoder.raw_decode(self.text, at)
        chosen = any(is_choice(node) for node in nodes)
        return end, [(path, at, end)] if chosen else []

    def _object(self, at: int, path: str, nodes: list[Any]) -> tuple[int, list[Span]]:
        found: list[Span] = []
        at = self._skip(at + 1)
        while self.text[at] != "}":
            name, at = self._decoder.raw_decode(self.text, at)
            at = self._skip(self.text.index(":", at) + 1)
            inner = [node.get("properties", {}).get(name) for node in nodes]
            at, spans = self._value(at, f"{path}.{name}" if path else name, inner)
            found += spans
            at = self._after(at)
        return at + 1, found

    def _array(self, at: int, path: str, nodes: list[Any]) -> tuple[int, list[Span]]:
        found: list[Span] = []
        at, number = self._skip(at + 1), 0
        while self.text[at] != "]":
            inner = [_item(node, number) for node in nodes]
            at, spans = self._value(at, f"{path}[{number}]", inner)
            found += spans
            at, number = self._after(at), number + 1
        return at + 1, found

    def _after(self, at: int) -> int:
        at = self._skip(at)
        return self._skip(at + 1) if self.text[at] == "," else at

    def _open(self, node: Any, depth: int) -> Iterator[dict[str, Any]]:
        """The schemas that may be meant by `node`: itself, and behind references and choices."""
        if not isinstance(node, dict) or depth > 16:
            return
        yield node
        if "$ref" in node:
            yield from self._open(referred(str(node["$ref"]), self.schema), depth + 1)
        for name in ("anyOf", "oneOf", "allOf"):
            for inner in node.get(name, ()):
                yield from self._open(inner, depth + 1)


def _item(node: dict[str, Any], number: int) -> Any:
    fixed = node.get("prefixItems", ())
    return fixed[number] if number < len(fixed) else node.get("items")
