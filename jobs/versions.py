"""Records that another version has written: what this one can't read it leaves alone, and says so.

Several versions may work on one bucket while it is updated. Everything that reads records reads
them here; who goes through many passes over those that are `Unreadable`, and tells of each once.
"""

import logging
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from jobs.errors import Unreadable
from jobs.problems import one_line, problems_of

log = logging.getLogger("zeroshift")
T = TypeVar("T", bound=BaseModel)
NEWER = "written by a newer version"
# A field, a state or a version that this one has not heard of.
SIGNS = {"extra_forbidden", "enum", "literal_error"}


def read_noun(kind: type[T], body: bytes | str, where: object) -> T:
    """The record in `body`; `Unreadable` in one line that begins with `where`."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        said = one_line(problems_of(error, kind))
        newer = any(each["type"] in SIGNS for each in error.errors())
        what = f"{NEWER}, left alone" if newer else f"no {kind.__name__.lower()} of ours"
        raise Unreadable(f"{where}: {what}: {said}") from error


class PassedOver:
    """What one process has passed over, told of once each."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def tell(self, name: str, error: Unreadable) -> None:
        if name not in self._told:
            self._told.add(name)
            log.warning("%s", error)
