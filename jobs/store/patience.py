"""Patience: how often a store is asked again, after how long, and by how many threads at once.

One for each store, shared by its threads. When the store throttles, the number of requests in the
air is halved, and grows again by one for each round that goes well; waits are drawn at random from
a range that doubles, so that clients that failed together do not come back together.
"""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from jobs.errors import StoreUnavailable, Throttled

T = TypeVar("T")
TRIES = 6
FIRST_WAIT_S, LONGEST_WAIT_S = 0.2, 10.0


class Patience:
    """Runs requests; `most` is how many may be in the air while all is well."""

    def __init__(
        self,
        most: int,
        tries: int = TRIES,
        sleep: Callable[[float], None] = time.sleep,
        draw: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._most, self._tries, self._sleep, self._draw = most, tries, sleep, draw
        self._limit = float(most)
        self._busy = 0
        self._cuts = 0
        self._free = threading.Condition()

    @property
    def limit(self) -> int:
        """Requests that may be in the air now."""
        return int(self._limit)

    def run(self, request: Callable[[], T]) -> T:
        """The request's answer; its `StoreUnavailable` when no try of several goes well."""
        for turn in range(self._tries):
            try:
                return self._once(request)
            except StoreUnavailable:
                if turn + 1 == self._tries:
                    raise
            self._sleep(self._draw(0.0, min(LONGEST_WAIT_S, FIRST_WAIT_S * 2**turn)))
        raise AssertionError("unreachable: the last try returns or raises")

    def _once(self, request: Callable[[], T]) -> T:
        with self._slot() as cuts:
            try:
                answer = request()
            except Throttled:
                self._cut(cuts)
                raise
            self._grow()
            return answer

    @contextmanager
    def _slot(self) -> Iterator[int]:
        """One of the places in the air; answers how many cuts there had been at its start."""
        with self._free:
            self._free.wait_for(lambda: self._busy < self.limit)
            self._busy += 1
            cuts = self._cuts
        try:
            yield cuts
        finally:
            with self._free:
                self._busy -= 1
                self._free.notify()

    def _cut(self, cuts: int) -> None:
        with self._free:
            if cuts == self._cuts:  # requests that were in the air together count as one complaint
                self._limit = max(1.0, self._limit / 2)
                self._cuts += 1

    def _grow(self) -> None:
        with self._free:
            self._limit = min(float(self._most), self._limit + 1 / self._limit)
            self._free.notify()
