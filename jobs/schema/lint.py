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

from jobs.schema.walk import json_path, nodes
from jobs.schema.worst_case import worst_case

COMPILER_TIMEOUT_S = 120
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
    """`refused`: the engine can't use it; `ignored`, `unbounded` and `untried` are warnings."""

    path: str
    keyword: str
    kind: str
    text: str

    def __str__(self) -> str:
        place = f"{self.path}: {self.keyword}" if self.keyword else self.path
        return f"{place}: {self.text}"


def lint(schema: dict[str, Any], compiler: bool = True) -> list[Finding]:
    """Findings, each place, keyword and kind once; none within what is ignored as a whole."""
    found = [*_by_table(schema), *(_by_compiler(schema) if compiler else ())]
    found += _without_end(schema)
    ignored = tuple(
        f"{each.path}.{each.keyword}" for each in found if each.kind == "ignored" and each.keyword
    )
    once = {(each.path, each.keyword, each.kind): each for each in found}
    return [each for each in once.values() if not each.path.startswith(ignored)]


def _by_table(schema: dict[str, Any]) -> Iterator[Finding]:
    for path, node in nodes(schema):
        for keyword in _not_forced(node):
            yield _ignored(json_path(path), keyword)
        if node.get("enum") == []:
            yield Finding(json_path(path), "enum", "refused", "no value is allowed")
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
    """What xgrammar says; nothing where it is not installed."""
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
    except (subprocess.SubprocessError, OSError) as error:
        text = f"the grammar compiler did not answer, so the schema is not tried: {error}"
        yield Finding("$", "", "untried", " ".join(text.split()))
        return
    for path, keyword, said in json.loads(answer.stdout):
        if said == "ignored":
            yield _ignored(path, keyword)
        else:
            yield Finding(path, keyword, "refused", f"no grammar can be made: {said}")


def _without_end(schema: dict[str, Any]) -> Iterator[Finding]:
    for path, missing in worst_case(schema).unbounded:
        text = "no bound is forced, so an answer may run on to max_tokens"
        yield Finding(path, missing, "unbounded", text)
