"""A job under a claim: its record as this controller last wrote it, changed under the epoch alone.

When somebody else has taken the job over, the first change says so with a `Conflict`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from jobs.addresses import JobPaths
from jobs.errors import ZeroshiftError
from jobs.order import Attempt
from jobs.record import Record, RecordFile
from jobs.states import State
from jobs.store.bucket import Store


@dataclass
class HeldJob:
    """`record` is as it was claimed, and then as it was last changed here."""

    store: Store
    paths: JobPaths
    record: Record
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        self.epoch = self.record.epoch
        self._file = RecordFile(self.store, self.paths)

    def move(self, state: State, reason: str = "") -> None:
        now = self.clock()
        self.record = self._file.change(lambda old: old.moved(state, now, reason), self.epoch)

    def change(self, **changes: object) -> None:
        self.record = self._file.change(lambda old: old.model_copy(update=changes), self.epoch)

    def attempt(self) -> Attempt:
        """What the worker of this epoch has reported so far."""
        try:
            return Attempt.model_validate_json(self.store.read(self.paths.attempt(self.epoch)))
        except ZeroshiftError:
            return Attempt(epoch=self.epoch)
