"""A cluster of one node, as seconds: what a replay drives, and what the learned rule imagines.

It works one job at a time, the first come first. The meter is read at every cut, as in a bill, so
that classes sum to the node's billed seconds.
"""

import math

from jobs.policy.costs import CostModel

CLASSES = ("startup", "model_load", "work", "idle", "teardown")


class Node:
    """Comes with a job and goes when it is stopped, any number of times.

    free_at   when there is nothing left to do; `paid_s` is billed up to then, or to the last end
    waits_s   how long each job waited until it was begun
    """

    def __init__(self, costs: CostModel) -> None:
        self.costs = costs
        self.seconds = dict.fromkeys(CLASSES, 0.0)
        self.waits_s: list[float] = []
        self.starts = 0
        self.up = False
        self.launched_at, self.free_at, self.gone_at = 0.0, -math.inf, -math.inf
        self.paid_s, self._read_s = 0.0, 0.0

    @property
    def age_s(self) -> float:
        return self.free_at - self.launched_at

    def work(self, at: float, work_s: float, launch_at: float | None = None) -> None:
        """A job that arrived at `at`; without a node, one is launched at `launch_at`, or `at`."""
        if not self.up:
            self._launch(max(at if launch_at is None else launch_at, self.gone_at))
        if at > self.free_at:
            self._cut("idle", at)
        self.waits_s.append(self.free_at - at)
        self._cut("work", self.free_at + work_s)

    def stop(self, window_s: float) -> None:
        """End the node when it has waited for `window_s`."""
        self._cut("idle", self.free_at + window_s)
        self._cut("teardown", self.free_at + self.costs.teardown_s)
        self.up, self.gone_at = False, self.free_at

    def _launch(self, at: float) -> None:
        self.up, self.starts = True, self.starts + 1
        self.launched_at, self._read_s = at, 0.0
        self._cut("startup", at + self.costs.startup_s)
        self._cut("model_load", self.free_at + self.costs.model_load_s)

    def _cut(self, name: str, until: float) -> None:
        read = self.costs.billed_s(until - self.launched_at)
        self.seconds[name] += read - self._read_s
        self.paid_s += read - self._read_s
        self._read_s, self.free_at = read, until
