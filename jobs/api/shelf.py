"""Records of jobs, for lists and for listeners, with few requests to the store.

A record that has ended does not change any more (but for its final bill, and unless it is over its
budget and may go on), so lists read it once. A record that somebody listens to, and the list that
pages show, are read once in `poll_s`, however many listen.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from jobs.addresses import JobPaths
from jobs.errors import NotFound, Unreadable
from jobs.queue import all_jobs, queued
from jobs.record import Record, RecordFile
from jobs.states import State
from jobs.store.bucket import Store
from jobs.versions import PassedOver

READERS = 16
MOST_KEPT = 20_000  # ended records, of some 2 KB
MOST_WATCHED = 1_000
SETTLED_S = 3600.0  # after its end the final bill is in
LISTED_S = 30.0  # between listings of all jobs there ever were, for pages


class Shelf:
    """Safe to share between threads."""

    def __init__(
        self,
        store: Store,
        bucket: str,
        poll_s: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._bucket, self._poll_s, self._clock = store, bucket, poll_s, clock
        self._ended: OrderedDict[str, Record] = OrderedDict()
        self._watched: OrderedDict[str, tuple[float, Record]] = OrderedDict()
        self._passed_over = PassedOver()
        self._lock = threading.Lock()
        self._reading = threading.Lock()
        self._glanced: Sequence[Record] = ()
        self._glanced_at = self._listed_at = float("-inf")
        self._glancing = threading.Lock()

    def load(self, job_id: str) -> Record:
        """The record as it is now; `NotFound` when there is no such job."""
        try:
            return RecordFile(self._store, JobPaths.of(self._bucket, job_id)).load()
        except NotFound as error:
            raise NotFound(f"no job {job_id!r}") from error

    def watched(self, job_id: str) -> Record:
        """The record as it was less than `poll_s` ago, read once for all who ask."""
        with self._reading:
            now = self._clock()
            read_at, record = self._watched.get(job_id, (float("-inf"), None))
            if record is None or not now - read_at < self._poll_s:
                record = self.load(job_id)
                self._watched[job_id] = (now, record)
                self._watched.move_to_end(job_id)
                while len(self._watched) > MOST_WATCHED:
                    self._watched.popitem(last=False)
            return record

    def all(self) -> list[Record]:
        """Every job's record, the newest job first."""
        ids = list(all_jobs(self._store, self._bucket))
        with self._lock:
            known = {job_id: self._ended[job_id] for job_id in ids if job_id in self._ended}
        found = self._read([job_id for job_id in ids if job_id not in known])
        return _newest_first([*known.values(), *found])

    def glance(self) -> Sequence[Record]:
        """The same as it was less than `poll_s` ago, read once for all who ask.

        Between listings of all jobs the queue tells which there are; a job that came and ended
        meanwhile, and a final bill, are seen with the next.
        """
        with self._glancing:
            now = self._clock()
            if not now - self._glanced_at < self._poll_s:
                self._glanced = self._glanced_anew(now)
                self._glanced_at = now
            return self._glanced

    def _glanced_anew(self, now: float) -> Sequence[Record]:
        if not now - self._listed_at < LISTED_S:
            records = self.all()
            self._listed_at = now
            return records
        known = {record.job_id: record for record in self._glanced}
        going = {job_id for job_id, record in known.items() if not record.state.ended}
        found = self._read(going.union(queued(self._store, self._bucket)))
        return _newest_first((known | {record.job_id: record for record in found}).values())

    def _read(self, wanted: Collection[str]) -> list[Record]:
        if not wanted:
            return []
        with ThreadPoolExecutor(min(READERS, len(wanted))) as readers:
            found = [record for record in readers.map(self._look, wanted) if record]
        self._keep(found)
        return found

    def _look(self, job_id: str) -> Record | None:
        try:
            return self.load(job_id)
        except NotFound:
            return None  # its record is on its way
        except Unreadable as error:
            self._passed_over.tell(job_id, error)
            return None

    def _keep(self, found: list[Record]) -> None:
        settled = self._clock() - SETTLED_S
        with self._lock:
            for record in found:
                is_over = record.state.ended and record.state is not State.OVER_BUDGET
                if is_over and max(record.entered.values(), default=0.0) < settled:
                    self._ended[record.job_id] = record
            while len(self._ended) > MOST_KEPT:
                self._ended.popitem(last=False)


def _newest_first(records: Iterable[Record]) -> list[Record]:
    return sorted(records, key=lambda record: (-record.created_at, record.job_id))
