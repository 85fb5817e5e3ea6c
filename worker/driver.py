"""The driver of one job on the cluster: deploy, hand out shards, stop.

It is launched with a job's address and knows nothing else. Shards that carry a commit marker are
skipped, so a job that is driven again does only what is left.
"""

import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError
from ray.serve.exceptions import RayServeException

from jobs.addresses import JobPaths
from jobs.bucket import Store
from jobs.order import Attempt, Order
from worker.errors import ShardFailed
from worker.wind_down import WindDown

SHARD_ATTEMPTS = 4  # an infrastructure budget: no picture's attempt is counted here
POLL_S = 0.5
FAILURES = (RayError, RayServeException)  # of a task, a replica or a node: another try may succeed


@dataclass
class Driver:
    """Hands shards to replicas and keeps the count of their attempts."""

    store: Store
    paths: JobPaths
    order: Order
    epoch: int
    handle: Any
    attempts: dict[int, int] = field(default_factory=dict)

    def run(self) -> None:
        """Work every shard that has no marker, unless told to wind down; `ShardFailed` when one
        can't be worked."""
        waiting = deque(self.open_shards())
        flying: dict[Any, int] = {}
        limit = self.order.replicas * self.order.in_flight
        wind_down = WindDown(self.store, self.paths.wind_down_of(self.epoch))
        while flying or (waiting and not wind_down.told):
            while waiting and len(flying) < limit and not wind_down.told:
                shard = waiting.popleft()
                flying[self._hand_out(shard)] = shard
            done = [each for each in flying if _is_done(each)]
            for response in done:
                shard = flying.pop(response)
                if not self._collect(response, shard):
                    waiting.append(shard)
            if not done:
                time.sleep(POLL_S / 10)

    def open_shards(self) -> list[int]:
        marked = {found.address.name for found in self.store.list(self.paths.markers)}
        return [
            shard
            for shard in range(self.order.shards)
            if self.paths.marker_of(shard).name not in marked
        ]

    def _hand_out(self, shard: int) -> Any:
        self.attempts[shard] = self.attempts.get(shard, 0) + 1
        return self.handle.work.remote(
            str(self.paths.root), self.order.model_dump(), shard, self.epoch, self.attempts[shard]
        )

    def _collect(self, response: Any, shard: int) -> bool:
        """Whether the shard is committed; one that failed is to be handed out again."""
        try:
            response.result(timeout_s=0)
            return True
        except FAILURES as error:
            if self.attempts[shard] >= SHARD_ATTEMPTS:
                cause = error.cause if isinstance(error, RayTaskError) else error
                raise ShardFailed(
                    f"shard {shard} failed {SHARD_ATTEMPTS} times, at last with "
                    f"{type(cause).__name__}: {cause}"
                ) from error
            return False


def _is_done(response: Any) -> bool:
    try:
        ready, _ = ray.wait([response._to_object_ref_sync()], timeout=0)
    except FAILURES:  # it reached no replica: `result` says so again
        return True
    return bool(ready)


def report(store: Store, paths: JobPaths, attempt: Attempt) -> None:
    """Write what the controller reads to know when the engine was ready and how it ended."""
    store.write(paths.attempt(attempt.epoch), attempt.model_dump_json().encode())
