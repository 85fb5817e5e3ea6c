"""From pydantic's report to one clear line: the field, what was found, what is allowed.

Shared by the manifest, the settings and the API's bodies, so that all speak alike;
`jobs.wording` has the words.
"""

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from jobs.wording import Choices, choices_of, either, own_words, shown

Where = tuple[str | int, ...]
Item = Mapping[str, Any]  # one error as pydantic reports it
SHOWN = 3
NAME_OF_KEY = "[key]"  # pydantic's mark of an error in a key, rather than in what lies under it


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
    return problems_in([dict(item) for item in error.errors(include_url=False)], model)


def problems_in(items: Iterable[Item], model: type[BaseModel] | None) -> list[Problem]:
    """The same of errors as pydantic reports them; without a model each place is taken as it is."""
    found = [_problem(where, alike, model) for where, alike in _by_place(items, model).items()]
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
            name = part if re.fullmatch(r"[\w-]+", part, re.ASCII) else json.dumps(part)
            text += f".{name}" if text else name
    return text


def _by_place(items: Iterable[Item], model: type[BaseModel] | None) -> dict[Where, list[Item]]:
    """Errors by the place that they are about: a union reports one for each of its members."""
    found: dict[Where, list[Item]] = {}
    of_unions: set[Where] = set()
    for item in items:
        where = _place(item, model)
        found.setdefault(where, []).append(item)
        if len(where) < len(item["loc"]):
            of_unions.add(where)
    # Where one member got further in, its own complaint says more than that of the others.
    vague = {at for at in of_unions if any(at == o[: len(at)] and at != o for o in of_unions)}
    return {where: alike for where, alike in found.items() if where not in vague}


def _place(item: Item, model: type[BaseModel] | None) -> Where:
    """Where in the document it is, without what pydantic calls the members of a union."""
    parts, annotation = [], model
    for number, part in enumerate(item["loc"]):
        last = number == len(item["loc"]) - 1
        under: Any = None
        if isinstance(part, str) and model is not None:
            under = _under(annotation, part)
            is_key = under is not None or _is_table(annotation) or part == NAME_OF_KEY
            own = last and item["type"] == "extra_forbidden"
            if not own and (not is_key or re.fullmatch(r"<[a-z]+>", part)):
                continue
        annotation = annotation if isinstance(part, int) else under
        parts.append(part)
    return tuple(parts)


def _problem(where: Where, alike: Sequence[Item], model: type[BaseModel] | None) -> Problem:
    first = alike[0]
    if first["type"] == "extra_forbidden":
        text, near = unknown_key(str(where[-1]), _keys_at(model, where[:-1]))
        return Problem(where, text, near)
    if first["type"] == "missing":
        return Problem(where, "missing; it is required", missing=True)
    if first["type"] in ("value_error", "json_invalid"):
        return Problem(where, own_words(first["msg"]))
    found = shown(first["input"])
    if where[-1:] == (NAME_OF_KEY,):
        where, found = where[:-2], f"key {json.dumps(where[-2])}"
    choices: list[Choices] = [choices_of(item) for item in alike]
    return Problem(where, f"found {found}; allowed: {either(choices)}")


def _keys_at(model: type[BaseModel] | None, where: Where) -> list[str]:
    """The known keys of the object at `where`, in the model's order."""
    annotation: Any = model
    for part in where:
        if isinstance(part, str):
            annotation = _under(annotation, part)
    return list(dict.fromkeys(name for found in _models_in(annotation) for name in _fields(found)))


def _under(annotation: Any, key: str) -> Any:
    """What stands under a key of a model; None when it knows no such key."""
    fields = (field for model in _models_in(annotation) for field in _fields(model).items())
    return next((kind for name, kind in fields if name == key), None)


def _fields(model: type[BaseModel]) -> dict[str, Any]:
    fields = model.model_fields.items()
    return {field.alias or name: field.annotation for name, field in fields}


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)


def _is_table(annotation: Any) -> bool:
    """Whether it is an object whose keys are the writer's own."""
    return get_origin(annotation) is dict or any(_is_table(each) for each in get_args(annotation))
