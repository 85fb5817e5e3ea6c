"""The store's own clock: quiet is told by when objects came, and it is the store that says when.

Our clock may be minutes off; so a small object is written, and what the store says of it is the
time. It is asked again once a minute; in between, our monotonic clock counts on from it.
"""

import time
from collections.abc import Callable

from jobs.addresses import inbox_root
from jobs.store.bucket import Store

AGAIN_S = 60.0


class StoreClock:
    """Called, it answers the store's time in seconds since the epoch."""

    def __init__(
        self, store: Store, bucket: str, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._store, self._address = store, inbox_root(bucket) / "clock"
        self._monotonic = monotonic
        self._asked: tuple[float, float] | None = None

    def __call__(self) -> float:
        here = self._monotonic()
        if self._asked is None or here - self._asked[0] > AGAIN_S:
            self._store.write(self._address, b"")
            self._asked = (here, self._store.look(self._address).modified.timestamp())
        before, there = self._asked
        return there + here - before
