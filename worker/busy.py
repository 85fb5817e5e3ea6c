"""When the engine was busy with a shard: had at least one of its questions."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from jobs.stretches import capped
from worker.moments import moment

MOST = 64  # stretches that are told of a shard; the smallest gaps are closed


class Busy:
    """Notes the moments between which questions were with the engine; for one event loop."""

    def __init__(self, now: Callable[[], float] = moment) -> None:
        self._now = now
        self._asked = 0
        self._since = 0.0
        self._over: list[tuple[float, float]] = []

    @contextmanager
    def asking(self) -> Iterator[None]:
        """While a question is with the engine."""
        if self._asked == 0:
            self._since = self._now()
        self._asked += 1
        try:
            yield
        finally:
            self._asked -= 1
            if self._asked == 0:
                self._over.append((self._since, self._now()))
                if len(self._over) > 16 * MOST:  # a shard of any length in the memory of some
                    self._over = capped(self._over, 8 * MOST)

    def stretches(self) -> tuple[tuple[float, float], ...]:
        """All of them so far, at most `MOST`, in seconds since the epoch."""
        going = [(self._since, self._now())] if self._asked else []
        return tuple(capped([*self._over, *going], MOST))
