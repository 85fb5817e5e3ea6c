"""Rates: a bucket of tokens for each caller, filled evenly, emptied by requests."""

import threading
import time
from collections.abc import Callable

MOST_CALLERS = 10_000  # buckets kept; a full one is no loss, and is dropped first


class Rates:
    """`per_minute` requests a minute of a caller, after a burst of as many; in this process."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._per_s, self._clock = float(per_minute), per_minute / 60, clock
        self._buckets: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def wait_s(self, caller: str) -> float:
        """Take one request; 0 when it may go on, else the seconds until it may."""
        with self._lock:
            now = self._clock()
            left, since = self._buckets.get(caller, (self._most, now))
            left = min(self._most, left + (now - since) * self._per_s)
            if left < 1:
                return (1 - left) / self._per_s
            self._buckets[caller] = (left - 1, now)
            if len(self._buckets) > MOST_CALLERS:
                self._drop_full(now)
            return 0.0

    def _drop_full(self, now: float) -> None:
        full = [
            caller
            for caller, (left, since) in self._buckets.items()
            if left + (now - since) * self._per_s >= self._most
        ]
        for caller in full or [next(iter(self._buckets))]:
            del self._buckets[caller]
