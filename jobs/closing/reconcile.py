"""Reconcile: the inputs of a shard against its committed rows, shard after shard.

Inputs were cut into shards when they were pinned, so a shard's inputs and its rows are two small
files that must tell of the same pictures; a job of any size is compared in the memory of a few.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from jobs.addresses import Address, JobPaths
from jobs.errors import NotFound, PermanentError, RowsMissing
from jobs.order import Marker, PinnedInput
from jobs.plurals import counted
from jobs.rows import Row, read_rows
from jobs.store.bucket import Store

NAMED = 3  # of the pictures in question, in a complaint
AHEAD = 8  # shards that are read while one is compared

Input = tuple[str, str]  # address and etag
T = TypeVar("T")


def read_markers(store: Store, paths: JobPaths, known: dict[int, Marker]) -> dict[int, Marker]:
    """All commit markers; those in `known` are not read again."""
    markers = dict(known)
    for found in store.list(paths.markers):
        shard = int(found.address.name.removesuffix(".json"))
        if shard not in markers:
            markers[shard] = Marker.model_validate_json(store.read(found.address))
    return markers


def check_markers(markers: Mapping[int, Marker], shards: int) -> None:
    """`RowsMissing` unless exactly the shards of the job are committed."""
    missing = [shard for shard in range(shards) if shard not in markers]
    if missing:
        shown = missing[:NAMED]
        raise RowsMissing(f"{len(missing)} of {counted(shards, 'shard')} without rows: {shown}")
    foreign = sorted(shard for shard in markers if shard >= shards)
    if foreign:
        strange = counted(len(foreign), "shard is", "shards are")
        raise RowsMissing(f"{strange} none of the job's {shards}: {foreign[:NAMED]}")


@dataclass(frozen=True, slots=True)
class ShardReader:
    """Reads one job's shards. Errors are `RowsMissing`, and name the shard."""

    store: Store
    paths: JobPaths

    def rows(self, marker: Marker) -> list[Row]:
        """The rows that `marker` vouches for."""
        shard = marker.shard
        try:
            body = self.store.read(self._rows_file(marker))
        except NotFound as error:
            raise RowsMissing(f"shard {shard}: {error}") from error
        if hashlib.sha256(body).hexdigest() != marker.digest:
            raise RowsMissing(f"shard {shard}: its rows are not those that were committed")
        try:
            return list(read_rows(body))
        except PermanentError as error:
            raise RowsMissing(f"shard {shard}: {error}") from error

    def compared(self, marker: Marker) -> list[Row]:
        """The rows of a shard, when they are those of its inputs."""
        rows = self.rows(marker)
        wanted = Counter(self._inputs(marker.shard))
        got = Counter((row.key, row.version) for row in rows)
        for key in {(row.key, row.version) for row in rows if is_of_many(row)}:
            got[key] = wanted[key]  # pages of a document, moments of a clip: its rows are more
        complaint = complain(wanted, got)
        if complaint:
            raise RowsMissing(f"shard {marker.shard}: rows do not match inputs: {complaint}")
        if marker.tokens not in (None, sum(row.tokens for row in rows)):
            raise RowsMissing(f"shard {marker.shard}: its marker counts other tokens than its rows")
        return rows

    def _rows_file(self, marker: Marker) -> Address:
        return self.paths.rows / (marker.file or self.paths.rows_of(marker.shard).name)

    def _inputs(self, shard: int) -> Iterator[Input]:
        try:
            text = self.store.read(self.paths.inputs_of(shard)).decode()
        except NotFound as error:
            raise RowsMissing(f"shard {shard}: {error}") from error
        for line in text.split("\n"):
            if line:
                pinned = PinnedInput.model_validate_json(line)
                yield pinned.address, pinned.etag


def is_of_many(row: Row) -> bool:
    """Whether its input may have other rows beside it, of other frames."""
    return row.frame > 0 or row.time_s is not None


def complain(wanted: Counter[Input], got: Counter[Input]) -> str:
    """What is missing, double or foreign, the first few by name; empty when nothing is."""
    missing, extra = wanted - got, got - wanted
    double = Counter({each: count for each, count in extra.items() if each in wanted})
    kinds = {"missing": missing, "double": double, "foreign": extra - double}
    return "; ".join(_shown(kind, found) for kind, found in kinds.items() if found)


def _shown(kind: str, found: Counter[Input]) -> str:
    named = ", ".join(address for address, _ in sorted(found)[:NAMED])
    more = ", …" if len(found) > NAMED else ""
    return f"{found.total()} {kind} ({named}{more})"


def in_order(
    markers: Mapping[int, Marker], read: Callable[[Marker], T]
) -> Iterator[tuple[Marker, T]]:
    """Each shard with what is read of it, by number, a few of them read ahead."""
    waiting: list[tuple[Marker, Future[T]]] = []
    with ThreadPoolExecutor(AHEAD, thread_name_prefix="close") as threads:
        try:
            for _, marker in sorted(markers.items()):
                waiting.append((marker, threads.submit(read, marker)))
                if len(waiting) > AHEAD:
                    first, rows = waiting.pop(0)
                    yield first, rows.result()
            while waiting:
                first, rows = waiting.pop(0)
                yield first, rows.result()
        finally:
            for _, rows in waiting:
                rows.cancel()
