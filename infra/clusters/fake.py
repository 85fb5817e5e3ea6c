"""A cluster without machines, for tests of what surrounds one; it keeps the contract of `base`.

A worker is a function in a thread. The first `work` adds a node, `retire` and `down` remove it.
"""

import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from infra.clusters.base import ClusterSpec, NodeInterval, WorkerProcess
from infra.errors import StartFailed

Work = Callable[[Sequence[str], Mapping[str, str]], int]


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
    """See `infra.clusters.base.Cluster`. `starts` False: the head never answers."""

    def __init__(self, spec: ClusterSpec, work: Work, starts: bool = True) -> None:
        self._spec, self._work, self._starts = spec, work, starts
        self._nodes: list[NodeInterval] = []
        self._alive = False

    @property
    def cluster_id(self) -> str:
        return self._spec.cluster_id

    def up(self) -> None:
        if not self._starts:
            raise StartFailed("the head did not answer")
        self._alive = True

    def launch(
        self, arguments: Sequence[str], environment: Mapping[str, str], log: Path
    ) -> WorkerProcess:
        if arguments[0] == "retire":
            self._end_nodes()
            return FakeProcess(lambda *_: 0, arguments, environment)
        if not self._nodes or self._nodes[-1].gone_at is not None:
            name = f"{self.cluster_id}-n{len(self._nodes) + 1}"
            self._nodes.append(NodeInterval(name, time.time(), None))
        return FakeProcess(self._work, arguments, environment)

    def stop(self, process: WorkerProcess) -> None:
        process.wait(10)

    def nodes(self) -> list[NodeInterval]:
        return list(self._nodes)

    def alive(self) -> bool:
        return self._alive

    def down(self) -> None:
        self._end_nodes()
        self._alive = False

    def forget(self) -> None:
        self._nodes = []

    def leftovers(self) -> list[str]:
        return ["head"] if self._alive else []

    def _end_nodes(self) -> None:
        now = time.time()
        self._nodes = [
            node if node.gone_at is not None else NodeInterval(node.node_id, node.launched_at, now)
            for node in self._nodes
        ]
