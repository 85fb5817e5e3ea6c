"""What is wrong with a schema for answers, found before anything is paid for.

Two sources. A table of keywords, which needs nothing installed; a test holds it against the
compiler. And the compiler of the engine's grammars itself, where it is installed: in a process of
its own, since it brings torch along. A keyword that the grammar does not force is no error: every
row is checked against the whole schema by another validator.
"""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jobs.schema_walk import json_path, nodes
from jobs.worst_case import worst_case

COMPILER_TIMEOUT_S = 60
FORMATS = {
    *("email", "date", "time", "date-time", "duration", "ipv4", "ipv6", "hostname", "uuid"),
    *("uri", "uri-reference", "uri-template", "json-pointer", "relative-json-pointer"),
}
IGNORED = (
    *("uniqueItems", "contains", "minContains", "maxContains"),
    *("dependentRequired", "dependentSchemas", "if", "not"),
    *("unevaluatedProperties", "unevaluatedItems"),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """`refused`: the engine can't use the schema; `ignored` and `unbounded` are warnings."""

    path: str
    keyword: str
    kind: str
    text: str

    def __str__(self) -> str:
        place = f"{self.path}: {self.keyword}" if self.keyword else self.path
        return f"{place}: {self.text}"


def lint(schema: dict[str, Any], compiler: bool = True) -> list[Finding]:
    """Findings in the order of the schema, each place and keyword once."""
    found = {(each.path, each.keyword): each for each in _by_table(schema)}
    if compiler:
        found |= {(each.path, each.keyword): each for each in _by_compiler(schema)}
    found |= {(each.path, each.keyword): each for each in _without_end(schema)}
    return list(found.values())


def _by_table(schema: dict[str, Any]) -> Iterator[Finding]:
    for path, node in nodes(schema):
        for keyword in _not_forced(node):
            yield _ignored(json_path(path), keyword)
        reference = node.get("$ref")
        if isinstance(reference, str) and not reference.startswith("#"):
            text = f"{reference!r} is outside the schema, and nothing is fetched"
            yield Finding(json_path(path), "$ref", "refused", text)


def _not_forced(node: dict[str, Any]) -> Iterator[str]:
    yield from (keyword for keyword in IGNORED if keyword in node)
    if "format" in node and node["format"] not in FORMATS:
        yield "format"
    if "pattern" in node or "format" in node:
        yield from (keyword for keyword in ("minLength", "maxLength") if keyword in node)
    if len(node.get("allOf", ())) > 1:
        yield "allOf"
    if "oneOf" in node:
        yield "oneOf"


def _ignored(path: str, keyword: str) -> Finding:
    text = {
        "oneOf": "forced as anyOf; that exactly one fits is checked on every row alone",
        "allOf": "forced in part at most; the whole is checked on every row",
    }.get(keyword, "not forced while the model writes; checked on every row alone")
    return Finding(path, keyword, "ignored", text)


def _by_compiler(schema: dict[str, Any]) -> Iterator[Finding]:
    """What xgrammar says; nothing where it is not installed or does not come to an end."""
    if importlib.util.find_spec("xgrammar") is None:
        return
    try:
        answer = subprocess.run(
            [sys.executable, "-m", "worker.lint"],
            input=json.dumps(schema),
            capture_output=True,
            text=True,
            timeout=COMPILER_TIMEOUT_S,
            check=True,
        )
    except (subprocess.SubprocessError, OSError):
        return
    for path, keyword, said in json.loads(answer.stdout):
        if said == "ignored":
            yield _ignored(path, keyword)
        else:
            yield Finding(path, keyword, "refused", f"no grammar can be made: {said}")


def _without_end(schema: dict[str, Any]) -> Iterator[Finding]:
    for path, missing in worst_case(schema).unbounded:
        text = "missing, so an answer may run on to max_tokens"
        yield Finding(path, missing, "unbounded", text)
