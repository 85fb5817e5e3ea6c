"""The local provider as the reaper sees it: processes by tag, and folders of clusters."""

import socket
from pathlib import Path

from infra.clusters.base import NodeInterval
from infra.clusters.local import processes, switch, teardown
from infra.clusters.local.processes import CLUSTER_TAG, FLEET_TAG
from infra.clusters.local.registry import Registry


def place_of(folder: Path) -> str:
    """This machine and a cluster's folder on it, as a record holds them."""
    return f"{socket.gethostname()}:{folder}"


class LocalSweeper:
    """See `infra.clusters.base.Sweeper`."""

    def clusters(self, fleet: str) -> dict[str, list[str]]:
        found = processes.values(CLUSTER_TAG, where=(FLEET_TAG, fleet))
        return {
            cluster: [f"{process.pid} {processes.name_of(process)}" for process in running]
            for cluster, running in found.items()
        }

    def sees(self, place: str) -> bool:
        host = place.partition(":")[0]
        return host in ("", socket.gethostname())

    def end(self, cluster_id: str, place: str) -> list[str]:
        left = teardown.end_cluster(_folder(place), cluster_id)
        if not left:
            teardown.end_switch(cluster_id)
        found = processes.tagged(CLUSTER_TAG, cluster_id)
        return [f"{process.pid} {processes.name_of(process)}" for process in found]

    def nodes(self, cluster_id: str, place: str) -> list[NodeInterval]:
        return [entry.interval() for entry in Registry(_folder(place) / "nodes").all()]

    def end_reason(self, cluster_id: str, place: str) -> str:
        return switch.end_reason(_folder(place))

    def forget(self, cluster_id: str, place: str) -> None:
        if self.sees(place) and place:
            teardown.remove(_folder(place))


def _folder(place: str) -> Path:
    """Of a cluster without a record nothing is known: a folder that is not there."""
    return Path(place.partition(":")[2] or "/nonexistent/zeroshift")
