"""What is assumed about speed where nothing was measured: rows with a slow, an expected and a fast
value. They are said to be assumptions wherever a figure rests on them, and receipts replace them.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal

from infra.catalogue.loading import read_rows

FILE = "assumptions.json"
Case = Literal["low", "expected", "high"]
CASES: tuple[Case, ...] = ("low", "expected", "high")  # of speed: low is the slow end


@dataclass(frozen=True, slots=True)
class Assumption:
    name: str
    low: float
    expected: float
    high: float
    unit: str
    why: str
    source: str
    dated: str

    def at(self, case: Case) -> float:
        return {"low": self.low, "expected": self.expected, "high": self.high}[case]


@cache
def assumptions() -> dict[str, Assumption]:
    return {row["name"]: Assumption(**row) for row in read_rows(FILE)}


def assume(name: str, case: Case) -> float:
    return assumptions()[name].at(case)
