"""Large objects as streams: written in parts, read in pieces, a piece at a time in memory.

What `Store.read` and `Store.write` are for whole objects. A piece that breaks off is asked for
again; an object that changes under the reader is a `Conflict`.
"""

from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import Self

from jobs.addresses import Address
from jobs.errors import PermanentError, ZeroshiftError
from jobs.store.bucket import Store

PIECE = 8 * 1024 * 1024  # bytes; a store takes no part below 5 MiB, and 10,000 parts


class LineTooLong(PermanentError):
    """A line is longer than its reader wants to hold."""


class PartWriter:
    """Writes one object, which is there as a whole when the `with` block ends without an error.

    What fits into one piece is written at once, without an upload in parts.
    """

    def __init__(self, store: Store, address: Address, kind: str) -> None:
        self._store, self._address, self._kind = store, address, kind
        self._buffer = bytearray()
        self._upload = ""
        self._etags: list[str] = []
        self.size = 0

    def write(self, data: bytes) -> None:
        self._buffer += data
        self.size += len(data)
        while len(self._buffer) >= PIECE:
            self._send(bytes(self._buffer[:PIECE]))
            del self._buffer[:PIECE]

    def _send(self, piece: bytes) -> None:
        if not self._upload:
            self._upload = self._store.begin_parts(self._address, self._kind)
        number = len(self._etags) + 1
        self._etags.append(self._store.write_part(self._address, self._upload, number, piece))

    def close(self) -> None:
        """Write the rest; from now on the object is there."""
        if not self._upload:
            self._store.write(self._address, bytes(self._buffer), self._kind)
            return
        if self._buffer:
            self._send(bytes(self._buffer))
        self._store.end_parts(self._address, self._upload, self._etags)

    def drop(self) -> None:
        """Leave no object, and no parts that would be paid for."""
        if self._upload:
            with suppress(ZeroshiftError):  # whatever broke the upload may break this too
                self._store.drop_parts(self._address, self._upload)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self.drop()
        else:
            self.close()


def pieces(store: Store, address: Address) -> Iterator[bytes]:
    """The object's bytes, some MiB at a time; `NotFound` at the first."""
    found = store.look(address)
    for first in range(0, found.size, PIECE):
        yield store.read_part(address, first, PIECE, found.etag)


def lines_of(store: Store, address: Address, longest: int) -> Iterator[bytes]:
    """The object's lines without their ends; `LineTooLong` at one of more than `longest` bytes."""
    begun = b""
    for piece in pieces(store, address):
        *whole, begun = (begun + piece).split(b"\n")
        for line in (*whole, begun):
            if len(line) > longest:
                raise LineTooLong(f"{address}: a line of more than {longest} bytes")
        yield from whole
    if begun:
        yield begun
