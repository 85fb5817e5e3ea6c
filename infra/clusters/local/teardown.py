"""End a local cluster: nodes first, then the head, then leftovers, all by id.

The controller, the cluster's own switch and the reaper all end it by this; any two of them may do
so at once.
"""

import shutil
from pathlib import Path

from infra.clusters.local import processes
from infra.clusters.local.processes import CLUSTER_TAG, NODE_TAG
from infra.clusters.local.registry import Registry

PRIVATE = ("ray", "token", "autoscaling.json")  # of use to a living cluster alone


def switch_of(cluster_id: str) -> str:
    """The node tag of the cluster's switch, which must be the last to go."""
    return f"{cluster_id}-switch"


def end_cluster(folder: Path, cluster_id: str, grace_s: float = processes.GRACE_S) -> list[str]:
    """End all but the switch, and remove what only a living cluster needs; what is left, in words.

    The autoscaler may start a node after those known were ended: the tag finds it, and the registry
    is closed at the very end, when nothing can be added to it.
    """
    registry, spared = Registry(folder / "nodes"), switch_of(cluster_id)
    for entry in registry.living():
        registry.leaving(entry.node_id)
        processes.end(NODE_TAG, entry.node_id, grace_s)
        registry.gone(entry.node_id)
    left = processes.end(CLUSTER_TAG, cluster_id, grace_s, spare=(NODE_TAG, spared))
    if left:
        return [f"{process.pid} {processes.name_of(process)}" for process in left]
    for entry in registry.living():
        registry.gone(entry.node_id)
    for part in PRIVATE:
        remove(folder / part)
    return []


def end_switch(cluster_id: str) -> None:
    processes.end(NODE_TAG, switch_of(cluster_id))


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
