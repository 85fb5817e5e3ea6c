"""Notice: the node under a replica will be taken away, as spot nodes are, at a moment that is told.

Ray's head keeps every notice, however it was told: a local node's process tells it on SIGTERM, and
so does Ray's own on other providers. Serve then sends the replica nothing new, starts another one
elsewhere, and waits for the shards that are in flight. Here they are given up in time, so that they
are known to be handed back and not to have failed.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

import ray
from ray._raylet import GcsClient
from ray.exceptions import RayError

from worker.errors import NodeLeaving

T = TypeVar("T")
NOTICE_S = 120.0  # that a provider gives; the driver's own, and the most that Serve waits for
HAND_BACK_S = 15.0  # before the end, a shard is given up: Serve and the node need some time to go
LOOK_S, ANSWER_S = 1.0, 5.0


class Notice:
    """Whether this node is leaving.

    ends_at   the end, in seconds since the epoch, once there was a notice; looked at in a thread
    """

    def __init__(
        self, ends_at: Callable[[], float | None], clock: Callable[[], float] = time.time
    ) -> None:
        self._ends_at, self._clock = ends_at, clock
        self._over = asyncio.Event()

    async def watch(self, look_s: float = LOOK_S) -> None:
        """Return when work must be given up; to run beside it."""
        while (ends_at := await asyncio.to_thread(self._ends_at)) is None:
            await asyncio.sleep(look_s)
        await asyncio.sleep(max(0.0, ends_at - HAND_BACK_S - self._clock()))
        self._over.set()

    async def within(self, work: Coroutine[Any, Any, T]) -> T:
        """What `work` answers; `NodeLeaving` when it is not done before the node has to go."""
        if self._over.is_set():
            work.close()
            raise NodeLeaving("its node is taken away, and takes no more work")
        task = asyncio.ensure_future(work)
        over = asyncio.ensure_future(self._over.wait())
        try:
            await asyncio.wait({task, over}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
        finally:
            over.cancel()
            task.cancel()
        raise NodeLeaving("its node is taken away, and the shard was not done in time")


def of_this_node() -> Notice:
    """The notice of the node that this Ray process runs on."""
    context = ray.get_runtime_context()
    head, here = GcsClient(address=context.gcs_address), context.get_node_id()

    def ends_at() -> float | None:
        with suppress(RayError):  # a head that does not answer has no news
            # Without a deadline it is no notice: the autoscaler drains what is idle.
            return head.get_draining_nodes(timeout=ANSWER_S).get(here, 0) / 1000 or None
        return None

    return Notice(ends_at)
