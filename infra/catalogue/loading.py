"""Read the catalogue's files: data that comes with the package, rows with source and date."""

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def read_rows(name: str) -> tuple[dict[str, Any], ...]:
    """The rows of `name`, such as "gpus.json", in the order of the file."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return tuple(json.loads(text))
