"""The driver of one job on the cluster: deploy, hand out shards, stop.

It is launched with a job's address and knows nothing else. Shards that carry a commit marker are
skipped, so a job that is driven again does only what is left. A shard whose node was taken away is
handed out again and has not failed; when the driver's own machine is taken away, the rest is handed
back.
"""

import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError, RayTaskError
from ray.serve.exceptions import RayServeException

from jobs.addresses import JobPaths
from jobs.order import Attempt, Order
from jobs.plurals import counted
from jobs.store.bucket import Store
from worker.errors import HandedBack, NodeLeaving, ShardFailed
from worker.hand_back import HandBack
from worker.wind_down import WindDown

SHARD_ATTEMPTS = 4  # an infrastructure budget: no picture's attempt is counted here
CAREFUL_AFTER = 2  # failures of a shard, which may have been of something else than a picture
POLL_S = 0.5
FAILURES = (RayError, RayServeException)  # of a task, a replica or a node: another try may succeed


@dataclass
class Driver:
    """Hands shards to replicas and keeps the count of their attempts.

    attempts      times that a shard was handed out, by which its rows are told apart
    failures      of those, the ones that count
    preemptions   the ones that do not: the shard's node was taken away
    """

    store: Store
    paths: JobPaths
    order: Order
    epoch: int
    handle: Any
    hand_back: HandBack = field(default_factory=HandBack)
    attempts: Counter[int] = field(default_factory=Counter)
    failures: Counter[int] = field(default_factory=Counter)
    preemptions: int = 0

    def run(self) -> None:
        """Work every shard that has no marker, unless told to wind down; `ShardFailed` when one
        can't be worked, `HandedBack` when notice was given and shards are left.
        """
        self.hand_back.gentle = True
        waiting, flying = deque(self.open_shards()), dict[Any, int]()
        try:
            self._work(waiting, flying)
        finally:
            for response in flying:
                response.cancel()
        if self.hand_back.given and (waiting or flying):
            raise HandedBack(f"{counted(len(waiting) + len(flying), 'shard')} left")

    def _work(self, waiting: deque[int], flying: dict[Any, int]) -> None:
        """Until nothing is left, or nothing more may be handed out or waited for."""
        limit, notice = self.order.replicas * self.order.in_flight, self.hand_back
        wind_down = WindDown(self.store, self.paths.wind_down_of(self.epoch))
        while flying or (waiting and not notice.given and not wind_down.told):
            while waiting and len(flying) < limit and not notice.given and not wind_down.told:
                shard = waiting.popleft()
                flying[self._hand_out(shard)] = shard
            done = [each for each in flying if _is_done(each)]
            for response in done:
                shard = flying.pop(response)
                if not self._collect(response, shard):
                    waiting.append(shard)
            if notice.is_over:
                return
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
        self.attempts[shard] += 1
        return self.handle.work.remote(
            str(self.paths.root),
            self.order.model_dump(),
            shard,
            self.epoch,
            self.attempts[shard],
            self._is_careful(shard),
        )

    def _is_careful(self, shard: int) -> bool:
        return self.failures[shard] >= CAREFUL_AFTER

    def _collect(self, response: Any, shard: int) -> bool:
        """Whether the shard is committed; one that is not is to be handed out again."""
        try:
            response.result(timeout_s=0)
            return True
        except FAILURES as error:
            if _is_preemption(error):
                self._preempted(shard)
            else:
                self._failed(shard, error)
            return False

    def _preempted(self, shard: int) -> None:
        self.preemptions += 1
        if self._is_careful(shard):  # the input in hand has killed nobody
            self.store.delete(self.paths.in_hand_of(shard))

    def _failed(self, shard: int, error: Exception) -> None:
        self.failures[shard] += 1
        if self.failures[shard] >= SHARD_ATTEMPTS:
            cause = error.cause if isinstance(error, RayTaskError) else error
            raise ShardFailed(
                f"shard {shard} failed {SHARD_ATTEMPTS} times, at last with "
                f"{type(cause).__name__}: {cause}"
            ) from error


def _is_preemption(error: Exception) -> bool:
    """Given up in time by the replica, or gone with a node that, as Ray knows, had notice."""
    if isinstance(error, RayTaskError):
        return isinstance(error.cause, NodeLeaving)
    return isinstance(error, RayActorError) and error.preempted


def _is_done(response: Any) -> bool:
    try:
        ready, _ = ray.wait([response._to_object_ref_sync()], timeout=0)
    except FAILURES:  # it reached no replica: `result` says so again
        return True
    return bool(ready)


def report(store: Store, paths: JobPaths, attempt: Attempt) -> None:
    """Write what the controller reads to know when the engine was ready and how it ended."""
    store.write(paths.attempt(attempt.epoch), attempt.model_dump_json().encode())
