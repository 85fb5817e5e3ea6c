"""Hands: what a replica has in hand, so that no shard is worked twice at a time.

A driver that was killed leaves its shards running here, and the next one hands them out again. Who
asks for a shard that is in hand waits for it; when nobody waits any more, it is given up.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

from jobs.order import Marker

Shard = tuple[str, int]  # the job's address and the shard's number


class Hands:
    """The shards of one replica that are being worked; for the replica's event loop alone."""

    def __init__(self) -> None:
        self._tasks: dict[Shard, asyncio.Task[Marker]] = {}
        self._waiting: Counter[Shard] = Counter()

    async def work(self, shard: Shard, begin: Callable[[], Coroutine[Any, Any, Marker]]) -> Marker:
        """What working `shard` answers or raises; begun now unless it is in hand already."""
        task = self._tasks.get(shard) or self._take(shard, begin())
        self._waiting[shard] += 1
        try:
            return await asyncio.shield(task)
        finally:
            self._waiting[shard] -= 1
            if not self._waiting[shard]:
                del self._waiting[shard]
                task.cancel()  # of no effect once it is done

    def _take(self, shard: Shard, work: Coroutine[Any, Any, Marker]) -> asyncio.Task[Marker]:
        task = asyncio.create_task(work)
        self._tasks[shard] = task
        task.add_done_callback(lambda _: self._tasks.pop(shard, None))
        return task
