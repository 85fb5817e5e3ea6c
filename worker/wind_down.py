"""Wind down: the controller's wish, in the bucket, that no further shard be begun.

What is in flight is finished and committed. The controller looks after the time that it takes.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from jobs.addresses import Address
from jobs.errors import ZeroshiftError
from jobs.store.bucket import Store

LOOK_S = 2.0


@dataclass
class WindDown:
    """Whether the object at `wish` is there; looked for now and then, and never forgotten."""

    store: Store
    wish: Address
    clock: Callable[[], float] = time.monotonic
    _told: bool = field(default=False, init=False)
    _next: float = field(default=0.0, init=False)

    @property
    def told(self) -> bool:
        now = self.clock()
        if not self._told and now >= self._next:
            self._next = now + LOOK_S
            try:
                self._told = self.store.exists(self.wish)
            except ZeroshiftError:  # the store is away: shards find out by themselves
                return False
        return self._told
