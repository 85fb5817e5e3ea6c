"""What every kind of cluster can do, whoever runs it: the contract of `infra.clusters`.

A cluster is raised from nothing, runs worker processes, says which nodes it had and when, and goes
down: nodes first, then the head. It holds a lease from its first moment, and ends itself when the
lease is not renewed or its lifetime is over, whatever became of whoever raised it. `local` is the
first provider; KubeRay, Ray's launcher on clouds and machines over SSH are to stand beside it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class NodeInterval:
    """One node's life: seconds since the epoch by the provider's clock, in this order.

    launched_at   it was asked for
    joined_at     it is part of the cluster and can take work; None: it never was, or not known
    left_at       its end was asked for, or it was given notice; None: it was not, or it crashed
    gone_at       it is no more; None: it is alive
    preempted     the end was its provider's wish and not ours
    """

    node_id: str
    launched_at: float
    gone_at: float | None
    joined_at: float | None = None
    left_at: float | None = None
    preempted: bool = False


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """What to raise.

    cluster_id    the tag that everything created carries
    fleet         whose cluster it is, a second tag: the reaper of one bucket must not end another's
    max_nodes     nodes that the autoscaler may add; the head carries no work
    cpus          CPUs of a node as Ray counts them
    idle_s        seconds without work after which Ray's autoscaler removes a node
    start_s       seconds within which the head must answer
    lease_s       seconds of the lease that it is raised with
    lifetime_s    seconds after which it ends itself although its lease is renewed
    forget        whether a cluster that ended itself removes its logs and node records too
    """

    cluster_id: str
    max_nodes: int
    cpus: int
    idle_s: float = 3.0
    start_s: float = 90.0
    lease_s: float = 60.0
    lifetime_s: float = 86400.0
    fleet: str = ""
    forget: bool = False


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

    @property
    def place(self) -> str:
        """Where it stands, for `Sweeper`."""

    def up(self) -> None:
        """Raise the head; nodes follow on demand. `StartFailed` names the phase that failed."""

    def renew(self, lease_s: float) -> None:
        """Let the cluster live another `lease_s` seconds from now.

        A length, not a moment: no clock that is set in between can make it another one. Without
        effect on a cluster that is not up, and beyond the cluster's lifetime.
        """

    def end_reason(self) -> str:
        """Why the cluster ended itself; empty when it did not."""

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

    def refusal(self) -> str:
        """Why no further nodes come: the provider's words; empty while it gives what is asked."""


class Sweeper(Protocol):
    """One provider's view of what runs, by tags alone: for the reaper, who has no `Cluster`.

    A cluster's `place` is where its raiser said that it stands, a host and a folder: a machine of
    the local provider sees itself only.
    """

    def clusters(self, fleet: str) -> dict[str, list[str]]:
        """The ids of the fleet's clusters of which something runs, and what, in words."""

    def sees(self, place: str) -> bool:
        """Whether a cluster at `place` would be found from here."""

    def end(self, cluster_id: str, place: str) -> list[str]:
        """End what is left of a cluster, idempotently; what still runs, in words."""

    def nodes(self, cluster_id: str, place: str) -> list[NodeInterval]:
        """Nodes as the provider has them; empty when it has no record."""

    def end_reason(self, cluster_id: str, place: str) -> str:
        """Why the cluster ended itself; empty when it did not, or nothing is known."""

    def forget(self, cluster_id: str, place: str) -> None:
        """Remove what a cluster that is gone still keeps."""
