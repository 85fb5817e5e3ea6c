"""Rows as the page carries them: without what is empty, and no more than a browser can hold.

Of a job with too many, the page has errors first, then rows with boxes, then the others; memory is
bounded by what it has, whatever the job.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jobs.report.facets import boxes

MOST_ROWS = 50_000
RANKS = ERROR, BOXED, PLAIN = range(3)


@dataclass(frozen=True, slots=True)
class Entry:
    """A row in the page: its place among all rows, its shard and place there, its JSON."""

    number: int
    shard: int
    index: int
    body: str


@dataclass(slots=True)
class Entries:
    """Takes rows in their order and keeps at most `most`; `seen` counts them all."""

    box_field: str | None
    most: int = MOST_ROWS
    seen: int = 0
    _kept: tuple[list[Entry], ...] = field(default_factory=lambda: tuple([] for _ in RANKS))

    def add(self, row: dict[str, Any], shard: int, index: int) -> None:
        """A row as plain JSON."""
        number, self.seen = self.seen, self.seen + 1
        found = boxes(row.get("output"), self.box_field)
        rank = ERROR if row["status"] == "error" else BOXED if found else PLAIN
        if len(self) >= self.most and not self._make_room(rank):
            return
        body = dumps({"row": shortened(row), **({"boxes": found} if found else {})})
        self._kept[rank].append(Entry(number, shard, index, body))

    def _make_room(self, rank: int) -> bool:
        for lesser in reversed(RANKS[rank + 1 :]):
            if self._kept[lesser]:
                self._kept[lesser].pop()
                return True
        return False

    @property
    def left_out(self) -> int:
        return self.seen - len(self)

    def __len__(self) -> int:
        return sum(map(len, self._kept))

    def __iter__(self) -> Iterator[Entry]:
        """In the order of the rows."""
        kept = (entry for rank in self._kept for entry in rank)
        return iter(sorted(kept, key=lambda entry: entry.number))


def shortened(row: dict[str, Any]) -> dict[str, Any]:
    """The row without what says nothing: nulls, and empty texts, lists and objects."""
    return {name: value for name, value in row.items() if value not in (None, "", [], {})}


def dumps(value: Any) -> str:
    """Compact JSON that can stand in a `<script>`: it holds no `<`, `>`, `&`, and no line end."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
