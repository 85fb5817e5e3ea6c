"""A Ray cluster on this machine, from zero to zero: head, nodes on demand, nothing left.

First its dead man's switch is started, then the head, which has no capacity for work; Ray's
autoscaler adds nodes through `provider`. Every process carries the cluster's tag; all are ended by
id.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from infra.clusters.base import ClusterSpec, NodeInterval, WorkerProcess
from infra.clusters.local import autoscaling, disk, lease, processes, ray_start, switch, teardown
from infra.clusters.local.registry import Registry
from infra.clusters.local.sweep import place_of
from infra.errors import StartFailed, TeardownFailed

SWITCH_S = 20.0  # seconds within which the switch must watch; it takes a fifth of one
SWITCH = (sys.executable, "-m", "infra.clusters.local.switch")


class LocalCluster:
    """See `infra.clusters.base.Cluster`."""

    def __init__(self, spec: ClusterSpec, work_dir: Path) -> None:
        self._spec = spec
        # Ray puts unix sockets under its folder and their paths are limited to 107 bytes.
        self._folder = work_dir.absolute() / f"zs-{spec.cluster_id[-8:]}"
        self._head: subprocess.Popen[bytes] | None = None
        self._switch: subprocess.Popen[bytes] | None = None
        self._address = ""
        self._environment: dict[str, str] = {}

    @property
    def cluster_id(self) -> str:
        return self._spec.cluster_id

    @property
    def place(self) -> str:
        return place_of(self._folder)

    def up(self) -> None:
        with disk.named(self._folder):
            self._raise()

    def _raise(self) -> None:
        self._folder.mkdir(parents=True)
        port, *metric = ray_start.free_ports(3)
        self._address = f"{ray_start.HOST}:{port}"
        self._environment = ray_start.cluster_environment(
            os.environ, self.cluster_id, self._folder, (metric[0], metric[1]), self._spec.fleet
        )
        self._raise_switch()
        self._raise_head(port)

    def _raise_switch(self) -> None:
        """The intent: from here on the cluster ends by itself, whatever becomes of us."""
        spec = self._spec
        orders = switch.Orders(
            self.cluster_id, time.monotonic(), spec.lifetime_s, spec.lease_s, spec.forget
        )
        orders.write(self._folder)
        lease.grant(self._folder, spec.lease_s)
        self._start_switch()
        ready = self._folder / switch.READY
        self._await("switch", ready.exists, self._watched, SWITCH_S)

    def _start_switch(self) -> None:
        tagged = {processes.NODE_TAG: teardown.switch_of(self.cluster_id)}
        log = self._folder / "logs" / "switch.log"
        command = [*SWITCH, str(self._folder)]
        self._switch = processes.spawn(command, {**self._environment, **tagged}, log)

    def _watched(self) -> bool:
        return self._switch is not None and self._switch.poll() is None

    def _raise_head(self, port: int) -> None:
        """Ray has written its node's addresses when the head is complete."""
        ray_start.write_token(self._folder / "token")
        config = self._folder / "autoscaling.json"
        autoscaling.write_config(config, self._spec, self._folder, self._address)
        environment = {
            **self._environment,
            ray_start.NODE_TYPE_VARIABLE: autoscaling.HEAD_TYPE,
            ray_start.INSTANCE_VARIABLE: "head",
        }
        command = ray_start.head_command(port, config, self._folder / "ray")
        self._head = processes.spawn(command, environment, self._folder / "logs" / "head.log")
        ready = self._folder / "ray" / "ray_current_cluster"
        self._await("head", ready.exists, self.alive, self._spec.start_s)

    def _await(
        self, phase: str, ready: Callable[[], bool], lives: Callable[[], bool], seconds: float
    ) -> None:
        deadline = time.monotonic() + seconds
        while not ready():
            if not lives():
                words = self.end_reason() or self._full() or self._last_words(f"{phase}.log")
                raise StartFailed(f"the {phase} ended while starting: {words}")
            if time.monotonic() > deadline:
                raise StartFailed(f"the {phase} did not answer within {seconds:g} s")
            time.sleep(0.02)

    def _last_words(self, log: str) -> str:
        path = self._folder / "logs" / log
        lines = path.read_text(errors="replace").split("\n") if path.exists() else []
        return " ".join([line.strip() for line in lines if line.strip()][-2:])[-300:]

    def renew(self, lease_s: float) -> None:
        """Also sees to it that there is a switch: one that was killed is started anew."""
        if self._switch is None or self.end_reason() or not self._folder.is_dir():
            return
        lease.grant(self._folder, lease_s)
        if not self._watched():
            self._start_switch()

    def end_reason(self) -> str:
        return switch.end_reason(self._folder)

    def launch(
        self, arguments: Sequence[str], environment: Mapping[str, str], log: Path
    ) -> WorkerProcess:
        command = [sys.executable, "-m", "worker", *arguments]
        with disk.named(log):
            return processes.spawn(command, {**self.environment(), **environment}, log)

    def environment(self) -> dict[str, str]:
        """What a process needs to join: address, token file, and the tag by which it is ended."""
        return {**self._environment, "RAY_ADDRESS": self._address}

    def stop(self, process: WorkerProcess) -> None:
        assert isinstance(process, subprocess.Popen)
        if process.poll() is None:
            process.send_signal(signal.SIGINT)  # SIGTERM is a notice, and would be used up
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
        left = teardown.end_cluster(self._folder, self.cluster_id)
        if left:  # its switch stays and tries on
            raise TeardownFailed(f"cluster {self.cluster_id}: {left} still run")
        teardown.end_switch(self.cluster_id)
        for process in (self._head, self._switch):
            if process is not None:
                process.wait()  # it has ended: this collects its status
        self._switch = None

    def forget(self) -> None:
        teardown.remove(self._folder)

    def leftovers(self) -> list[str]:
        found = processes.tagged(processes.CLUSTER_TAG, self.cluster_id)
        return [f"{process.pid} {processes.name_of(process)}" for process in found]

    def refusal(self) -> str:
        full = self._full()
        return self._registry().refusal() or (f"no_capacity: {full}" if full else "")

    def _full(self) -> str:
        return disk.full(self._folder)

    def _registry(self) -> Registry:
        return Registry(self._folder / "nodes")
