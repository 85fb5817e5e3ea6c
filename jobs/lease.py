"""Leases: a heartbeat that keeps a claim alive while the work goes on."""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from jobs.errors import Conflict, ZeroshiftError

LEASE_S = 30.0
BEATS_PER_LEASE = 4


class Heartbeat:
    """Calls `beat` in a thread, several times a lease, until the `with` block ends.

    A `Conflict` means that somebody else holds the claim now: `lost` becomes true and the beating
    stops. Other errors are tried again at the next beat; the lease outlives a few of them.
    """

    def __init__(self, beat: Callable[[], object], lease_s: float = LEASE_S) -> None:
        self._beat = beat
        self._every_s = lease_s / BEATS_PER_LEASE
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self.lost = False

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
        while not self._ended.wait(self._every_s):
            try:
                self._beat()
            except Conflict:
                self.lost = True
                return
            except ZeroshiftError:
                continue
