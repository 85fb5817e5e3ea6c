"""The JSON objects of a checkpoint's files, read so that what is wrong is named by file and key."""

import json
from dataclasses import dataclass
from typing import Any

from infra.errors import PlanRefused
from infra.models.sources import Reader

MOST = 10**10  # of a dimension: far above any real one, far below where a count takes for ever


@dataclass(frozen=True, slots=True)
class Section:
    """One JSON object: `place` is file and model, `path` where in the file, with a last dot."""

    place: str
    values: dict[str, Any]
    path: str = ""

    def section(self, key: str) -> "Section | None":
        """The object under `key`; None when it is missing or null."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.refused(key, f"is {_shown(value)}; allowed: an object")
        return Section(self.place, value, f"{self.path}{key}.")

    def needed_section(self, *keys: str) -> "Section":
        """The object under the first of `keys` that is there."""
        for key in keys:
            if (found := self.section(key)) is not None:
                return found
        raise self.refused(" or ".join(keys), "is missing; allowed: an object")

    def whole(self, *keys: str, default: int | None = None, most: int = MOST) -> int:
        """The whole number above 0 under the first of `keys` that is there, else `default`."""
        found = self.optional(*keys, most=most)
        if found is not None:
            return found
        if default is None:
            raise self.refused(" or ".join(keys), "is missing; allowed: a whole number above 0")
        return default

    def optional(self, *keys: str, most: int = MOST) -> int | None:
        """As `whole`; None when none of `keys` is there."""
        for key in keys:
            value = self.values.get(key)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise self.refused(key, f"is {_shown(value)}; allowed: a whole number above 0")
            if value > most:
                raise self.refused(key, f"is {_shown(value)}; allowed: up to {most:,}")
            return value
        return None

    def square(self, key: str, default: int | None = None, most: int = MOST) -> int:
        """A side that files also write as a pair of equal sides."""
        value = self.values.get(key)
        if isinstance(value, list) and len(value) == 2 and value[0] == value[1]:
            return Section(self.place, {key: value[0]}, self.path).whole(key, most=most)
        return self.whole(key, default=default, most=most)

    def flag(self, key: str, default: bool) -> bool:
        value = self.values.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.refused(key, f"is {_shown(value)}; allowed: true, false")
        return value

    def expect(self, key: str, only: Any, default: Any = None) -> None:
        """Refuse every value of `key` but `only`; a missing key is as if it were `default`."""
        value = self.values.get(key)
        if (default if value is None else value) != only:
            problem = "is missing" if value is None else f"is {_shown(value)}"
            raise self.refused(key, f"{problem}; allowed: {json.dumps(only)}")

    def length(self, key: str, default: int | None = None) -> int:
        """How many items the list under `key` has."""
        value = self.values.get(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, list):
            problem = "is missing" if value is None else f"is {_shown(value)}"
            raise self.refused(key, f"{problem}; allowed: a list")
        return len(value)

    def text(self, key: str) -> str:
        """The text under `key`; "" when it is missing."""
        value = self.values.get(key)
        return "" if value is None else str(value)

    def refused(self, key: str, problem: str) -> PlanRefused:
        return PlanRefused(f"model: {self.place}: {self.path}{key} {problem}")


def read_section(reader: Reader, file: str, name: str) -> Section | None:
    """The object that `file` of the model `name` holds; None when there is no such file."""
    content = reader.read(file)
    if content is None:
        return None
    place = f"{file} of {name!r}"
    try:
        values = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise PlanRefused(f"model: {place} is not JSON: {_one_line(error)}") from error
    if not isinstance(values, dict):
        raise PlanRefused(f"model: {place} is {_shown(values)}; allowed: a JSON object")
    return Section(place, values)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 40 else f"{text[:40]}..."


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
