"""The body of an answer, within a time that its size allows. Used by `jobs.store.bucket` alone.

The client's own timeout is for one wait on the line: a body that trickles, a byte every few
seconds, never runs into it and would be waited for without an end.
"""

import time
from collections.abc import Callable
from typing import Any

LEAST_S = 60.0
SLOWEST = 256 * 1024  # bytes a second: below that a line is of no use
PIECE = 1024 * 1024


class TooSlow(OSError):
    """The body did not come in its time."""


class _Arriving:
    """Stands for a response's stream: a read answers what has come and waits for no more."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def read(self, amount: int | None = None) -> bytes:
        return bytes(self._stream.read1(amount))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def read_body(body: Any, length: int, clock: Callable[[], float] = time.monotonic) -> bytes:
    """All of `body`, of about `length` bytes; `TooSlow` at the deadline, the line closed."""
    stream = getattr(body, "_raw_stream", None)
    if hasattr(stream, "read1"):  # below botocore's checks of length and checksum, which stay
        body._raw_stream = _Arriving(stream)
    began, pieces, came = clock(), [], 0
    while piece := body.read(PIECE):
        pieces.append(piece)
        came += len(piece)
        most_s = LEAST_S + max(length, came) / SLOWEST
        if clock() - began > most_s:
            body.close()
            raise TooSlow(f"{came} of {length} bytes came in {most_s:.0f} s")
    return b"".join(pieces)
