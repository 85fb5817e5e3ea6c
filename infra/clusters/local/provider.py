"""Ray's autoscaler calls this, in its monitor process on the head, to add and remove local nodes.

A node is a raylet of its own, started as a process of this machine; the registry is the record.
"""

import os
import signal
import threading
from contextlib import suppress
from pathlib import Path
from subprocess import Popen
from typing import Any

from ray.autoscaler.node_provider import NodeProvider
from ray.autoscaler.tags import NODE_KIND_HEAD, TAG_RAY_NODE_KIND, TAG_RAY_USER_NODE_TYPE

from infra.clusters.local import disk, processes
from infra.clusters.local.autoscaling import HEAD_TYPE
from infra.clusters.local.ray_start import HOST, node_command, node_environment
from infra.clusters.local.registry import Registry

HEAD_ID = "head"
MAX_CRASHES = 3  # nodes that may die unasked before no more are launched


class LocalNodeProvider(NodeProvider):
    """Nodes as local processes; all methods may be called from several threads."""

    def __init__(self, provider_config: dict[str, Any], cluster_name: str) -> None:
        super().__init__(provider_config, cluster_name)
        self._folder = Path(provider_config["folder"])
        self._registry = Registry(self._folder / "nodes")
        self._lock = threading.RLock()
        self._started: dict[str, Popen[bytes]] = {}
        self._crashes = 0
        self._listed: set[str] = set()

    @staticmethod
    def bootstrap_config(cluster_config: dict[str, Any]) -> dict[str, Any]:
        return cluster_config

    def non_terminated_nodes(self, tag_filters: dict[str, str]) -> list[str]:
        with self._lock:
            self._reap()
            ids = [HEAD_ID, *(entry.node_id for entry in self._registry.living())]
            self._listed.update(ids)
            return [i for i in ids if tag_filters.items() <= self.node_tags(i).items()]

    def node_tags(self, node_id: str) -> dict[str, str]:
        if node_id == HEAD_ID:
            return {TAG_RAY_NODE_KIND: NODE_KIND_HEAD, TAG_RAY_USER_NODE_TYPE: HEAD_TYPE}
        return self._registry.get(node_id).tags

    def set_node_tags(self, node_id: str, tags: dict[str, str]) -> None:
        if node_id != HEAD_ID:
            with self._lock:
                self._registry.tag(node_id, tags)

    def is_running(self, node_id: str) -> bool:
        return not self.is_terminated(node_id)

    def is_terminated(self, node_id: str) -> bool:
        return node_id != HEAD_ID and self._registry.get(node_id).gone_at is not None

    def internal_ip(self, node_id: str) -> str:
        return HOST

    external_ip = internal_ip

    def create_node_with_resources_and_labels(
        self,
        node_config: dict[str, Any],
        tags: dict[str, str],
        count: int,
        resources: dict[str, float],
        labels: dict[str, str],
    ) -> None:
        with self._lock:
            for _ in range(count):
                self._start(tags)

    def create_node(self, node_config: dict[str, Any], tags: dict[str, str], count: int) -> None:
        self.create_node_with_resources_and_labels(node_config, tags, count, {}, {})

    def _start(self, tags: dict[str, str]) -> None:
        if self._crashes >= MAX_CRASHES:
            self._refuse(f"{self._crashes} nodes died unasked: no more are launched")
        node_id = f"{self.cluster_name}-n{len(self._registry.all()) + 1}"
        kind, notice_s = tags[TAG_RAY_USER_NODE_TYPE], float(self.provider_config["notice_s"])
        environment = node_environment(os.environ, node_id, kind, notice_s)
        command = node_command(
            self.provider_config["head_address"],
            int(self.provider_config["cpus"]),
            self._registry.signs_of(node_id),
        )
        log = self._folder / "logs" / f"{node_id}.log"
        try:
            self._registry.add(node_id, tags)  # before it is started: a bill may not miss a node
            self._started[node_id] = processes.spawn(command, environment, log)
        except OSError as error:  # no process, no memory, no disk: this machine is full
            with suppress(OSError):
                self._registry.gone(node_id)
            self._refuse(f"no_capacity: {disk.words(error, self._folder)}")

    def _refuse(self, why: str) -> None:
        """Leave word for the controller, which can't hear what Ray's autoscaler is told.

        On a full disk that can't be done; there the controller sees for itself.
        """
        with suppress(OSError):
            self._registry.refuse(why)
        raise RuntimeError(why)

    def terminate_node(self, node_id: str) -> None:
        self._registry.leaving(node_id)
        with self._lock:
            process = self._started.pop(node_id, None)
        left = processes.end(processes.NODE_TAG, node_id)
        if left:
            raise RuntimeError(f"node {node_id} did not end: {[p.pid for p in left]}")
        if process is not None:
            process.wait()
        self._registry.gone(node_id)

    def terminate_nodes(self, node_ids: list[str]) -> None:
        for node_id in node_ids:
            self.terminate_node(node_id)

    def _reap(self) -> None:
        """Collect exit statuses; a node whose raylet died is gone, and its remains with it.

        But not one that the autoscaler has not seen yet: of a node that never appeared it believes
        for ten minutes that it is still to come, and asks for no other.
        """
        for node_id, process in list(self._started.items()):
            if node_id in self._listed and process.poll() is not None:
                del self._started[node_id]
                if process.returncode == -signal.SIGTERM:  # before it could say so
                    self._registry.preempted(node_id)
                if self._registry.get(node_id).left_at is None:
                    self._crashes += 1
                processes.end(processes.NODE_TAG, node_id)
                self._registry.gone(node_id)
