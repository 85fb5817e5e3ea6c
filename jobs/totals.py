"""What the rows of a job add up to, counted as they pass."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from jobs.rows import Row


@dataclass(frozen=True, slots=True)
class Totals:
    """What the rows add up to."""

    rows: int
    ok: int
    errors: int
    codes: dict[str, int]
    prompt_tokens: int
    image_tokens: int
    output_tokens: int
    wasted_tokens: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts rows; `totals` may be asked for at any time."""

    _counts: Counter[str] = field(default_factory=Counter)
    _codes: Counter[str] = field(default_factory=Counter)

    def add(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self._counts["rows"] += 1
            self._counts[row.status] += 1
            if row.error is not None:
                self._codes[row.error.code] += 1
            if row.usage is not None:
                self._counts.update(row.usage.model_dump())

    def totals(self, warnings: tuple[str, ...] = ()) -> Totals:
        counts = self._counts
        return Totals(
            rows=counts["rows"],
            ok=counts["ok"],
            errors=counts["error"],
            codes=dict(self._codes.most_common()),
            prompt_tokens=counts["prompt_tokens"],
            image_tokens=counts["image_tokens"],
            output_tokens=counts["output_tokens"],
            wasted_tokens=counts["wasted_tokens"],
            warnings=warnings,
        )
