"""`python -m worker.lint`: what the engine's grammar compiler makes of a schema.

Launched at submission, in a process of its own, since xgrammar imports torch. Reads a JSON Schema
on standard input and prints findings as JSON: a list of [JSON path, keyword, problem], where the
problem is `ignored`, or why the compiler refuses the schema. A keyword is ignored when the grammar
is the same without it: nothing is believed that the compiler does not show.
"""

import json
import re
import sys
from copy import deepcopy
from typing import Any

from jobs.schema.walk import Path, json_path, nodes

# What says something about values; the rest are notes, or hold schemas of their own.
CONSTRAINTS = (
    *("minLength", "maxLength", "pattern", "format"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains"),
    *("minProperties", "maxProperties", "patternProperties", "propertyNames"),
    *("dependentRequired", "dependentSchemas", "if", "not", "unevaluatedProperties"),
    *("allOf", "anyOf", "oneOf", "$ref", "enum", "const"),
)


def lint(schema: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The findings, in the order of the schema."""
    whole = _compiled(schema)
    if isinstance(whole, Exception):
        return [_blamed(schema, whole)]
    found: list[tuple[str, str, str]] = []
    for path, node in nodes(schema):
        for keyword in CONSTRAINTS:
            if keyword in node and _compiled(_without(schema, path, keyword)) == whole:
                found.append((json_path(path), keyword, "ignored"))
    return found


def _blamed(schema: dict[str, Any], error: Exception) -> tuple[str, str, str]:
    """The deepest place without which the schema compiles; the root when there is none."""
    words = re.sub(r"^\[[\d:]+\] \S+:\d+: ", "", " ".join(str(error).split()))
    places = sorted(nodes(schema), key=lambda place: -len(place[0]))
    for path, node in places:
        for keyword in CONSTRAINTS:
            if keyword in node and isinstance(_compiled(_without(schema, path, keyword)), str):
                return json_path(path), keyword, words
    return "$", "", words


def _without(schema: dict[str, Any], path: Path, keyword: str) -> dict[str, Any]:
    changed = deepcopy(schema)
    node: Any = changed
    for part in path:
        node = node[part]
    del node[keyword]
    return changed


def _compiled(schema: dict[str, Any]) -> str | Exception:
    import xgrammar

    try:
        return str(xgrammar.Grammar.from_json_schema(json.dumps(schema), any_whitespace=False))
    except Exception as error:  # whatever the compiler raises, it refused the schema
        return error


if __name__ == "__main__":
    json.dump(lint(json.load(sys.stdin)), sys.stdout)
