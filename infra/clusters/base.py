"""What every kind of cluster can do, whoever runs it: the contract of `infra.clusters`.

A cluster is raised from nothing, runs worker processes, says which nodes it had and when, and goes
down: nodes first, then the head. `local` is the first provider; KubeRay, Ray's launcher on clouds
and machines over SSH are to stand beside it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class NodeInterval:
    """One node's life: seconds since the epoch by the provider's clock; `gone_at` None: alive."""

    node_id: str
    launched_at: float
    gone_at: float | None


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """What to raise.

    cluster_id    the tag that everything created carries
    max_nodes     nodes that the autoscaler may add; the head carries no work
    cpus          CPUs of a node as Ray counts them
    idle_s        seconds without work after which Ray's autoscaler removes a node
    start_s       seconds within which the head must answer
    """

    cluster_id: str
    max_nodes: int
    cpus: int
    idle_s: float = 3.0
    start_s: float = 90.0


class WorkerProcess(Protocol):
    """A worker started on the cluster."""

    def poll(self) -> int | None:
        """Its exit status, or None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its exit status; `subprocess.TimeoutExpired` after `timeout` seconds."""


class Cluster(Protocol):
    """A Ray cluster that comes and goes."""

    @property
    def cluster_id(self) -> str: ...

    def up(self) -> None:
        """Raise the head; nodes follow on demand. `StartFailed` when it does not answer."""

    def launch(
        self, arguments: Sequence[str], environment: Mapping[str, str], log: Path
    ) -> WorkerProcess:
        """Start `python -m worker ARGUMENTS` beside the head, its output appended to `log`."""

    def stop(self, process: WorkerProcess) -> None:
        """End a worker that `launch` started."""

    def nodes(self) -> list[NodeInterval]:
        """Every node that this cluster ever had, in the order of launch."""

    def alive(self) -> bool:
        """Whether the head still runs."""

    def down(self) -> None:
        """End nodes, then the head, and check; idempotent. `TeardownFailed` if something stays."""

    def forget(self) -> None:
        """Remove logs and records that a cluster that is down still keeps on this machine."""

    def leftovers(self) -> list[str]:
        """What of this cluster still runs, in words; empty when it is gone."""
