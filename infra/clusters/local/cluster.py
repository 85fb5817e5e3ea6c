"""A Ray cluster on this machine, from zero to zero: head, nodes on demand, nothing left.

The head has no capacity for work; Ray's autoscaler adds nodes through `provider`. Every process
carries the cluster's tag and is ended by id.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from infra.clusters.base import ClusterSpec, NodeInterval, WorkerProcess
from infra.clusters.local import autoscaling, processes, ray_start
from infra.clusters.local.registry import Registry
from infra.errors import StartFailed, TeardownFailed


class LocalCluster:
    """See `infra.clusters.base.Cluster`."""

    def __init__(self, spec: ClusterSpec, work_dir: Path) -> None:
        self._spec = spec
        # Ray puts unix sockets under its folder and their paths are limited to 107 bytes.
        self._folder = work_dir / f"zs-{spec.cluster_id[-8:]}"
        self._head: subprocess.Popen[bytes] | None = None
        self._address = ""
        self._environment: dict[str, str] = {}

    @property
    def cluster_id(self) -> str:
        return self._spec.cluster_id

    def up(self) -> None:
        self._folder.mkdir(parents=True)
        port, *metric = ray_start.free_ports(3)
        self._address = f"{ray_start.HOST}:{port}"
        ray_start.write_token(self._folder / "token")
        config = self._folder / "autoscaling.json"
        autoscaling.write_config(config, self._spec, self._folder, self._address)
        self._environment = ray_start.cluster_environment(
            os.environ, self.cluster_id, self._folder, (metric[0], metric[1])
        )
        head = {
            **self._environment,
            ray_start.NODE_TYPE_VARIABLE: autoscaling.HEAD_TYPE,
            ray_start.INSTANCE_VARIABLE: "head",
        }
        command = ray_start.head_command(port, config, self._folder / "ray")
        self._head = processes.spawn(command, head, self._folder / "logs" / "head.log")
        self._await_head()

    def _await_head(self) -> None:
        """Wait until Ray has written its node's addresses, its sign that the head is complete."""
        ready = self._folder / "ray" / "ray_current_cluster"
        deadline = time.monotonic() + self._spec.start_s
        while not ready.exists():
            if not self.alive():
                raise StartFailed(f"the head ended while starting: {self._last_words('head.log')}")
            if time.monotonic() > deadline:
                raise StartFailed(f"the head did not answer within {self._spec.start_s:g} s")
            time.sleep(0.1)

    def _last_words(self, log: str) -> str:
        path = self._folder / "logs" / log
        lines = path.read_text(errors="replace").split("\n") if path.exists() else []
        return " ".join([line.strip() for line in lines if line.strip()][-2:])[-300:]

    def launch(
        self, arguments: Sequence[str], environment: Mapping[str, str], log: Path
    ) -> WorkerProcess:
        command = [sys.executable, "-m", "worker", *arguments]
        return processes.spawn(command, {**self.environment(), **environment}, log)

    def environment(self) -> dict[str, str]:
        """What a process needs to join: address, token file, and the tag by which it is ended."""
        return {**self._environment, "RAY_ADDRESS": self._address}

    def stop(self, process: WorkerProcess) -> None:
        assert isinstance(process, subprocess.Popen)
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(processes.GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def nodes(self) -> list[NodeInterval]:
        return [entry.interval() for entry in self._registry().all()]

    def alive(self) -> bool:
        return self._head is not None and self._head.poll() is None

    def down(self) -> None:
        registry = self._registry()
        for entry in registry.living():
            processes.end(processes.NODE_TAG, entry.node_id)
            registry.gone(entry.node_id)
        left = processes.end(processes.CLUSTER_TAG, self.cluster_id)
        if self._head is not None and not left:
            self._head.wait()  # it has ended: this collects its status
        if left:
            raise TeardownFailed(f"cluster {self.cluster_id}: {self.leftovers()} still run")
        for part in ("ray", "token", "autoscaling.json"):
            self._remove(self._folder / part)

    def forget(self) -> None:
        self._remove(self._folder)

    @staticmethod
    def _remove(path: Path) -> None:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)

    def leftovers(self) -> list[str]:
        found = processes.tagged(processes.CLUSTER_TAG, self.cluster_id)
        return [f"{process.pid} {process.name()}" for process in found]

    def _registry(self) -> Registry:
        return Registry(self._folder / "nodes")
