"""Small pictures for the page: a few stand in it, many in chunks beside it.

A page that is opened from disk may not fetch; it may load a script. So a chunk is a script with
nothing in it but a list of base64 texts.
"""

import base64
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from jobs.report.entries import dumps

CHUNK_BYTES = 512 * 1024  # of base64: 15 to 200 pictures, loaded as they come into view
INLINE_CHUNKS = 16  # as much may stand in the page itself: then it is one file, and at once there
CHUNKS, KIND = "report-thumbs-", "text/javascript"

Place = tuple[int, int, int]  # chunk, first picture in it, how many


def chunk_name(number: int) -> str:
    return f"{CHUNKS}{number:05d}.js"


@dataclass(slots=True)
class Chunks:
    """Takes pictures and writes full chunks, once there are more than the page itself holds."""

    write: Callable[[str, bytes, str], object]
    written: int = 0
    _held: list[list[str]] = field(default_factory=lambda: [[]])
    _bytes: int = 0

    def add(self, pictures: Sequence[bytes]) -> Place:
        """The pictures of one row, which stay together."""
        chunk = self._held[-1]
        place = (self.written + len(self._held) - 1, len(chunk), len(pictures))
        texts = [base64.b64encode(each).decode() for each in pictures]
        chunk += texts
        self._bytes += sum(map(len, texts))
        if self._bytes >= CHUNK_BYTES:
            self._held.append([])
            self._bytes = 0
            if self.written or len(self._held) > INLINE_CHUNKS:
                self._flush(self._held[:-1])
                self._held = self._held[-1:]
        return place

    def finish(self) -> list[list[str]]:
        """Write what is left; answers the chunks that are to stand in the page: all, or none."""
        held = [chunk for chunk in self._held if chunk]
        if not self.written:
            return held
        self._flush(held)
        return []

    def _flush(self, chunks: Iterable[Sequence[str]]) -> None:
        for chunk in chunks:
            body = f"zeroshiftThumbs({self.written},{dumps(chunk)})\n"
            self.write(chunk_name(self.written), body.encode(), KIND)
            self.written += 1
