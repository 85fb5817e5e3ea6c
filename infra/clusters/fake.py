"""A cluster without machines, for tests of what surrounds one; it keeps the contract of `base`.

A worker is a function in a thread. The first `work` adds a node, `retire` and `down` remove it.
"""

import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from infra.clusters.base import ClusterSpec, NodeInterval, WorkerProcess
from infra.errors import StartFailed

Work = Callable[[Sequence[str], Mapping[str, str]], int]
HERE = "here:fake"


class FakeProcess:
    """A worker in a thread; `work` answers its exit status."""

    def __init__(
        self, work: Work, arguments: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        self._status: int | None = None
        self._thread = threading.Thread(
            target=self._run, args=(work, arguments, environment), daemon=True
        )
        self._thread.start()

    def _run(self, work: Work, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        self._status = 1
        self._status = work(arguments, environment)

    def poll(self) -> int | None:
        return None if self._thread.is_alive() else self._status

    def wait(self, timeout: float | None = None) -> int:
        self._thread.join(timeout)
        status = self.poll()
        if status is None:
            raise subprocess.TimeoutExpired("worker", timeout or 0.0)
        return status


class FakeCluster:
    """See `infra.clusters.base.Cluster`. Its switch acts when somebody looks, by `clock`.

    starts     False: the head never answers
    capacity   nodes that the provider has to give; None: any number
    held       True: retiring does not make its nodes go, as when something of Ray holds them
    """

    place = HERE

    def __init__(
        self,
        spec: ClusterSpec,
        work: Work,
        starts: bool = True,
        clock: Callable[[], float] = time.monotonic,
        capacity: int | None = None,
        held: bool = False,
    ) -> None:
        self.spec, self._work, self._starts = spec, work, starts
        self._clock, self._capacity, self._held = clock, capacity, held
        self._nodes: list[NodeInterval] = []
        self._alive = False
        self._born = self._until = 0.0
        self._end_reason = self._refusal = ""

    @property
    def cluster_id(self) -> str:
        return self.spec.cluster_id

    def up(self) -> None:
        if not self._starts:
            raise StartFailed("the head did not answer")
        self._born = self._clock()
        self._until = self._born + self.spec.lease_s
        self._alive = True

    def renew(self, lease_s: float) -> None:
        self._switch()
        if self._alive:
            self._until = self._clock() + lease_s

    def end_reason(self) -> str:
        self._switch()
        return self._end_reason

    def _switch(self) -> None:
        """What a switch does in a process of its own."""
        now = self._clock()
        if self._alive and now >= self._born + self.spec.lifetime_s:
            self._end_reason = f"its lifetime of {self.spec.lifetime_s:g} s is over"
        elif self._alive and now >= self._until:
            self._end_reason = "its lease was not renewed"
        if self._alive and self._end_reason:
            self.down()

    def launch(
        self, arguments: Sequence[str], environment: Mapping[str, str], log: Path
    ) -> WorkerProcess:
        if arguments[0] == "retire":
            if not self._held:
                self._end_nodes()
            return FakeProcess(lambda *_: 0, arguments, environment)
        if not self._nodes or self._nodes[-1].gone_at is not None:
            self._add_node()
        return FakeProcess(self._work, arguments, environment)

    def _add_node(self) -> None:
        if self._capacity is not None and len(self._nodes) >= self._capacity:
            self._refusal = f"no_capacity: all {self._capacity} nodes are taken"
            return
        name = f"{self.cluster_id}-n{len(self._nodes) + 1}"
        now = time.time()
        self._nodes.append(NodeInterval(name, now, None, joined_at=now))

    def stop(self, process: WorkerProcess) -> None:
        process.wait(10)

    def nodes(self) -> list[NodeInterval]:
        self._switch()
        return list(self._nodes)

    def alive(self) -> bool:
        self._switch()
        return self._alive

    def down(self) -> None:
        self._end_nodes()
        self._alive = False

    def forget(self) -> None:
        self._nodes = []

    def leftovers(self) -> list[str]:
        self._switch()
        return ["head"] if self._alive else []

    def refusal(self) -> str:
        return self._refusal

    def preempt(self) -> None:
        """The provider takes its nodes back, as it does with spot nodes."""
        self._end_nodes(preempted=True)

    def _end_nodes(self, preempted: bool = False) -> None:
        now = time.time()
        self._nodes = [
            node
            if node.gone_at is not None
            else replace(node, left_at=now, gone_at=now, preempted=preempted)
            for node in self._nodes
        ]


class FakeSweeper:
    """See `infra.clusters.base.Sweeper`: sees the clusters it was given. `stuck` ones do not end.

    `made` is read at each look, so that it can be a list that grows.
    """

    def __init__(self, made: Iterable[FakeCluster], stuck: bool = False) -> None:
        self._made, self.stuck = made, stuck
        self.forgotten: list[str] = []

    def clusters(self, fleet: str) -> dict[str, list[str]]:
        found = {each.cluster_id: each.leftovers() for each in self._made if _of(each, fleet)}
        return {cluster_id: running for cluster_id, running in found.items() if running}

    def sees(self, place: str) -> bool:
        return place in ("", HERE)

    def end(self, cluster_id: str, place: str) -> list[str]:
        for cluster in self._those(cluster_id):
            if not self.stuck:
                cluster.down()
        return [words for cluster in self._those(cluster_id) for words in cluster.leftovers()]

    def nodes(self, cluster_id: str, place: str) -> list[NodeInterval]:
        return [node for cluster in self._those(cluster_id) for node in cluster.nodes()]

    def end_reason(self, cluster_id: str, place: str) -> str:
        return next((cluster.end_reason() for cluster in self._those(cluster_id)), "")

    def forget(self, cluster_id: str, place: str) -> None:
        self.forgotten.append(cluster_id)

    def _those(self, cluster_id: str) -> list[FakeCluster]:
        return [cluster for cluster in self._made if cluster.cluster_id == cluster_id]


def _of(cluster: FakeCluster, fleet: str) -> bool:
    return cluster.spec.fleet == fleet
