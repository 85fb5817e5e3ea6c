"""Every schema within a JSON Schema, with its path."""

from collections.abc import Iterator
from typing import Any

Path = tuple[str | int, ...]
NAMED = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
NESTED = ("items", "additionalProperties", "contains", "not", "if", "then", "else")
LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")


def nodes(schema: Any, path: Path = ()) -> Iterator[tuple[Path, dict[str, Any]]]:
    """`schema` and every schema in it; outer ones first, in their order."""
    if not isinstance(schema, dict):
        return
    yield path, schema
    for name in NAMED:
        for key, inner in (schema.get(name) or {}).items():
            yield from nodes(inner, (*path, name, key))
    for name in NESTED:
        yield from nodes(schema.get(name), (*path, name))
    for name in LISTED:
        for number, inner in enumerate(schema.get(name) or ()):
            yield from nodes(inner, (*path, name, number))


def json_path(path: Path) -> str:
    """`$.properties.kind`, `$.anyOf[0]`."""
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)


def referred(reference: str, whole: dict[str, Any]) -> Any:
    """What a `$ref` within the document points at; None when it is nowhere."""
    found: Any = whole
    for part in reference.removeprefix("#").strip("/").split("/") if reference != "#" else ():
        name = part.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if isinstance(found, dict) else None
    return found if reference.startswith("#") else None
