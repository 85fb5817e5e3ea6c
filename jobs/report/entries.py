"""Rows as the page carries them: without what is empty, and no more than a browser can hold.

Of a job with too many, the page has errors first, then rows with boxes, then the others; long texts
are cut. Memory is bounded by what the page has, whatever the job.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jobs.report.facets import boxes

MOST_ROWS = 50_000
MOST_BYTES = 64 << 20  # of all rows together: of long ones, as of documents, there are fewer
LONGEST_TEXT = 4000  # characters
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
    most_bytes: int = MOST_BYTES
    seen: int = 0
    _bytes: int = 0
    _kept: tuple[list[Entry], ...] = field(default_factory=lambda: tuple([] for _ in RANKS))

    def add(self, row: dict[str, Any], shard: int, index: int) -> None:
        """A row as plain JSON."""
        number, self.seen = self.seen, self.seen + 1
        found = boxes(row.get("output"), self.box_field)
        rank = ERROR if row["status"] == "error" else BOXED if found else PLAIN
        if not self._make_room(rank, 0):
            return
        body = dumps({"row": shortened(row), **({"boxes": found} if found else {})})
        if self._make_room(rank, len(body)):
            self._kept[rank].append(Entry(number, shard, index, body))
            self._bytes += len(body)

    def _make_room(self, rank: int, size: int) -> bool:
        """Whether there is room for so many bytes more, at the cost of less telling rows."""
        while len(self) >= self.most or self._bytes + size > self.most_bytes:
            lesser = next((kept for kept in reversed(self._kept[rank + 1 :]) if kept), None)
            if lesser is None:
                return False
            self._bytes -= len(lesser.pop().body)
        return True

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
    """The row without what says nothing, nulls and what is empty, and with long texts cut."""
    return {name: _cut(value) for name, value in row.items() if value not in (None, "", [], {})}


def _cut(value: Any) -> Any:
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        return f"{value[:LONGEST_TEXT]}… ({len(value)} characters)"
    if isinstance(value, list):
        return [_cut(each) for each in value]
    if isinstance(value, dict):
        return {name: _cut(each) for name, each in value.items()}
    return value


def dumps(value: Any) -> str:
    """Compact JSON that can stand in a `<script>`: it holds no `<`, `>`, `&`, and no line end."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
