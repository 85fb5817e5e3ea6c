"""The selection guide: which model for which use, and what nobody has measured yet."""

from dataclasses import dataclass
from functools import cache

from infra.catalogue.loading import read_rows

FILE = "guide.json"


@dataclass(frozen=True, slots=True)
class Advice:
    """`why` holds no figure that the catalogue has: those are read from it when they are shown."""

    use: str
    model: str
    why: str
    not_measured: str
    source: str
    dated: str


@cache
def uses() -> tuple[str, ...]:
    return tuple(dict.fromkeys(row["use"] for row in read_rows(FILE)))


def advice_for(use: str) -> tuple[Advice, ...]:
    """What to take for `use`, the first choice first; empty for a use that is not known."""
    return tuple(Advice(**row) for row in read_rows(FILE) if row["use"] == use)
