"""The turn of an attempt at a shard: in the bucket from when it is taken up until its rows count.

The ledger reads what stays. It is told for the bill's sake, so no shard fails of it.
"""

import os
from contextlib import suppress
from dataclasses import dataclass

from jobs.addresses import Address, JobPaths
from jobs.errors import ZeroshiftError
from jobs.order import Turn
from jobs.store.bucket import Store
from worker.busy import Busy
from worker.moments import moment


def node_name() -> str:
    """The node that this process is on, by its provider's name or else Ray's; empty: not known."""
    return os.environ.get("ZEROSHIFT_NODE") or os.environ.get("RAY_NODE_ID", "")


@dataclass(frozen=True, slots=True)
class TurnFile:
    """One turn in the bucket."""

    store: Store
    paths: JobPaths
    turn: Turn

    def begin(self) -> None:
        self._write(self.turn)

    def count(self) -> None:
        """Its rows count: the marker tells of it from here on."""
        with suppress(ZeroshiftError):
            self.store.delete(self._address)

    def fail(self, busy: Busy) -> None:
        """It failed, or another attempt's rows count."""
        ended = {"ended_at": moment(), "busy": busy.stretches()}
        self._write(self.turn.model_copy(update=ended))

    def _write(self, turn: Turn) -> None:
        with suppress(ZeroshiftError):
            self.store.write(self._address, turn.model_dump_json().encode())

    @property
    def _address(self) -> Address:
        turn = self.turn
        return self.paths.turn_of(turn.shard, turn.epoch, turn.attempt)
