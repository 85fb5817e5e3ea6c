"""From pydantic's report to one clear line: the field, what was found, what is allowed.

Shared by the manifest and the settings, so that both speak alike.
"""

import difflib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

Where = tuple[str | int, ...]
SHOWN = 3
LONGEST_FOUND = 60
# Our words where pydantic's name a Python type that the writer of JSON or TOML has not heard of.
ALLOWED = {
    "model_type": "an object",
    "dict_type": "an object",
    "tuple_type": "a list",
    "decimal_type": "a number",
    "decimal_parsing": "a number",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One wrong field; `suggestion` is the known key nearest to an unknown one."""

    where: Where
    text: str
    suggestion: str | None = None
    missing: bool = False

    def __str__(self) -> str:
        return f"{shown_path(self.where)}: {self.text}" if self.where else self.text


def problems_of(error: ValidationError, model: type[BaseModel]) -> list[Problem]:
    """Every problem in `error`, which validating `model` has raised."""
    found = [_problem(dict(item), model) for item in error.errors(include_url=False)]
    # A misspelt key is one mistake, not a missing key and an unknown one.
    misspelt = {(*p.where[:-1], p.suggestion) for p in found if p.suggestion}
    return [p for p in found if not (p.missing and p.where in misspelt)]


def one_line(problems: Sequence[object]) -> str:
    """The first few problems, joined, and how many more there are."""
    more = len(problems) - SHOWN
    tail = f" (and {more} more)" if more > 0 else ""
    return "; ".join(str(problem) for problem in problems[:SHOWN]) + tail


def unknown_key(key: str, known: Sequence[str]) -> tuple[str, str | None]:
    """What to say about a key that is not among `known`, and the nearest one that is."""
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"unknown key; {hint}allowed: {', '.join(known)}", near[0] if near else None


def shown_path(where: Where) -> str:
    """`inputs.keys[3]`; a part with odd characters is quoted, so that the line stays one line."""
    text = ""
    for part in where:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part if re.fullmatch(r"[\w\[\]-]+", part, re.ASCII) else json.dumps(part)
            text += f".{name}" if text else name
    return text


def _problem(item: dict[str, Any], model: type[BaseModel]) -> Problem:
    # Parts in angle brackets are the tags of a union, not keys of the document.
    where = tuple(part for part in item["loc"] if not re.fullmatch(r"<[a-z]+>", str(part)))
    if item["type"] == "extra_forbidden":
        text, near = unknown_key(str(where[-1]), _keys_at(model, where[:-1]))
        return Problem(where, text, near)
    if item["type"] == "missing":
        return Problem(where, "missing; it is required", missing=True)
    return Problem(where, _wrong_value(item))


def _wrong_value(item: dict[str, Any]) -> str:
    message = " ".join(str(item["msg"]).split())
    if item["type"] in ("value_error", "json_invalid"):
        return message.removeprefix("Value error, ")
    allowed = ALLOWED.get(item["type"]) or re.sub(
        r"^.*? should (be |have )?|, unable to parse.*| after validation.*", "", message
    )
    return f"found {_shown(item['input'])}; allowed: {allowed}"


def _shown(value: object) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= LONGEST_FOUND else f"{text[:LONGEST_FOUND]}…"


def _keys_at(model: type[BaseModel], where: Where) -> list[str]:
    """The known keys of the object at `where`, in the model's order."""
    annotation: Any = model
    for part in where:
        if isinstance(part, str):
            fields = [f for m in _models_in(annotation) for f in _fields(m).items()]
            annotation = next((kind for name, kind in fields if name == part), None)
    return list(dict.fromkeys(name for found in _models_in(annotation) for name in _fields(found)))


def _fields(model: type[BaseModel]) -> dict[str, Any]:
    fields = model.model_fields.items()
    return {field.alias or name: field.annotation for name, field in fields}


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)
