"""Leases: a heartbeat that keeps a claim alive while the work goes on.

A controller holds two kinds, of the same length: on the job it works, and on the cluster that it
raised. Both are renewed by the same beats, in the bucket; the cluster's own copy comes last.
"""

import logging
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from infra.errors import InfraError
from jobs.errors import Conflict, ZeroshiftError

log = logging.getLogger("zeroshift")
LEASE_S = 30.0  # of a presence; jobs and clusters: the setting cluster_lease_s
BEATS_PER_LEASE = 4
TOLERATED = (ZeroshiftError, InfraError, OSError)


class Rounds:
    """Calls `act` in a thread, at once and then every `every_s`, until the `with` block ends.

    Errors are logged, and tried again in the next round.
    """

    first_s = 0.0

    def __init__(self, act: Callable[[], object], every_s: float, name: str = "rounds") -> None:
        self._act, self._every_s = act, every_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        pause = self.first_s
        while not self._ended.wait(pause):
            pause = self._every_s
            try:
                self._act()
            except Conflict as error:
                self.on_conflict(error)
            except TOLERATED as error:
                log.warning("%s: %s", self._thread.name, error)
            except Exception:  # of ours; a thread that ended would be missed by nobody
                log.exception("%s: will look again", self._thread.name)

    def on_conflict(self, error: Conflict) -> None:
        log.warning("%s: %s", self._thread.name, error)


class Heartbeat(Rounds):
    """Calls `beat` several times a lease.

    A `Conflict` means that somebody else holds the claim now: `lost` becomes true and the beating
    stops. Other errors are tried again at the next beat; the lease outlives a few of them.
    """

    def __init__(self, beat: Callable[[], object], lease_s: float = LEASE_S) -> None:
        super().__init__(beat, lease_s / BEATS_PER_LEASE, "heartbeat")
        self.first_s = self._every_s
        self.lost = False

    def on_conflict(self, error: Conflict) -> None:
        self.lost = True
        self._ended.set()
