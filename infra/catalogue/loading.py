"""Read the catalogue's files: data that comes with the package, rows with source and date."""

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def read_rows(name: str) -> tuple[dict[str, Any], ...]:
    """The rows of `name`, such as "gpus.json", in the order of the file."""
    text = files("infra.catalogue").joinpath(name).read_text(encoding="utf-8")
    return tuple(json.loads(text))
