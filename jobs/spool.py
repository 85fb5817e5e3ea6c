"""Spool: rows that could not be written wait on this machine's disk, for answers cost money.

Called by the worker in place of `commit`. What lies here is written as soon as the store takes it:
by the next attempt at the shard, by the next shard, or at the end. It is asked with fresh
credentials, since those that a process was started with may have run out.
"""

import errno
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from jobs.addresses import Address, JobPaths
from jobs.commit import commit
from jobs.errors import RowsSpooled, ZeroshiftError
from jobs.order import Marker
from jobs.plurals import counted
from jobs.store.bucket import Store

WAITS_S = (1.0, 5.0, 15.0, 30.0)


@dataclass(frozen=True, slots=True)
class Spool:
    """Rows on disk, `FOLDER/<bucket>/<job>/<shard>-<epoch>-<attempt>.jsonl`, each with its marker.

    fresh   makes a store anew, with the credentials that there are now
    """

    folder: Path
    fresh: Callable[[], Store]
    sleep: Callable[[float], None] = field(default=time.sleep)

    def commit(self, store: Store, paths: JobPaths, body: bytes, marker: Marker) -> Marker:
        """`commit`; when the store does not take it, keep the rows, try again, then report.

        `RowsSpooled` at the end of the tries: the rows are on disk, and `settled` finds them.
        """
        try:
            return commit(store, paths, body, marker)
        except ZeroshiftError as error:
            kept = self._keep(paths, body, marker, error)
        for wait_s in WAITS_S:
            self.sleep(wait_s)
            try:
                marked = commit(self.fresh(), paths, body, marker)
            except ZeroshiftError as error:
                reason = error
            else:
                _forget(kept)
                return marked
        raise RowsSpooled(
            f"shard {marker.shard}: {counted(marker.rows, 'row')} kept in {kept}; "
            f"not written: {reason}"
        ) from reason

    def settled(self, store: Store, paths: JobPaths, shard: int) -> Marker | None:
        """The marker of a shard whose rows lay here, now written; None when none did.

        Called before a shard is worked: what was answered is not asked again.
        """
        for text, marker in self._kept(paths):
            if marker.shard == shard:
                counted = self.commit(store, paths, text.read_bytes(), marker)
                _forget(text)
                return counted
        return None

    def settle(self, store: Store, paths: JobPaths) -> list[Marker]:
        """Write everything that lies here for a job."""
        shards = sorted({marker.shard for _, marker in self._kept(paths)})
        found = [self.settled(store, paths, shard) for shard in shards]
        return [marker for marker in found if marker is not None]

    def waiting(self) -> list[JobPaths]:
        """Jobs that have rows here."""
        folders = sorted(self.folder.glob("*/*/")) if self.folder.is_dir() else []
        return [JobPaths.of(each.parent.name, each.name) for each in folders if any(each.iterdir())]

    def _keep(self, paths: JobPaths, body: bytes, marker: Marker, why: Exception) -> Path:
        place = self._place(paths) / marker.file
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            _write(place.with_suffix(".json"), marker.model_dump_json().encode())
            _write(place, body)  # last: a marker without rows is nothing
        except OSError as error:
            with suppress(OSError):
                _forget(place)
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            disk = f"no space left on {self.folder}" if full else error
            raise RowsSpooled(
                f"shard {marker.shard}: {counted(marker.rows, 'row')} lost: the store refused them "
                f"({why}), and so did the disk: {disk}"
            ) from error
        return place

    def _kept(self, paths: JobPaths) -> Iterator[tuple[Path, Marker]]:
        """Rows and marker of each attempt, the last one first; what is not whole is passed over."""
        for text in sorted(self._place(paths).glob("*.jsonl"), reverse=True):
            try:
                marker = Marker.model_validate_json(text.with_suffix(".json").read_bytes())
            except (OSError, ValueError):
                continue
            if hashlib.sha256(text.read_bytes()).hexdigest() == marker.digest:
                yield text, marker

    def _place(self, paths: JobPaths) -> Path:
        root: Address = paths.root
        return self.folder / root.bucket / paths.job_id


def _write(path: Path, body: bytes) -> None:
    """The whole file or none, also when the power goes."""
    part = path.with_suffix(f"{path.suffix}.part")
    try:
        with part.open("wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)  # there only when the disk is full


def _forget(text: Path) -> None:
    text.unlink(missing_ok=True)
    text.with_suffix(".json").unlink(missing_ok=True)
