"""Raise and rest: the clusters of one controller, from intent to verified teardown.

The intent is in the bucket before anything is created. A warm cluster of the same offer is adopted;
one that has been idle for the window goes down, nodes first, then the head.
"""

import json
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from infra.clusters import make_cluster
from infra.clusters.base import Cluster, ClusterSpec, NodeInterval
from infra.errors import ClusterError
from infra.planner.plan import Plan
from jobs.addresses import clusters_root
from jobs.bucket import Store
from jobs.lease import LEASE_S
from jobs.offers import snapshot
from jobs.record import OfferSnapshot
from jobs.settings import Settings

MakeCluster = Callable[[str, ClusterSpec, Path], Cluster]
RETIRE_S, NODES_GONE_S = 60.0, 30.0


class ClusterRecord(BaseModel):
    """`zeroshift/clusters/<cluster>.json`: intent, lease and node intervals."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    cluster_id: str
    provider: str
    state: Literal["intended", "up", "down", "failed"]
    owner: str
    created_at: float
    lease_until: float
    gone_at: float | None = None
    checked: str = ""
    offer: OfferSnapshot
    nodes: tuple[NodeInterval, ...] = ()


@dataclass
class Raised:
    """A cluster of ours. `since` is when its present job's node time began."""

    cluster: Cluster
    record: ClusterRecord
    since: float
    idle_since: float | None = None
    log: Path = field(default_factory=Path)


class Fleet:
    """Holds at most one cluster, since a controller works one job at a time."""

    def __init__(
        self, store: Store, settings: Settings, owner: str, make: MakeCluster = make_cluster
    ) -> None:
        self._store, self._settings, self._owner, self._make = store, settings, owner, make
        self.current: Raised | None = None
        self._lock = threading.Lock()
        self._keep_logs = False
        self._settle: Callable[[float], None] | None = None

    def settle_with(self, account: Callable[[float], None]) -> None:
        """`account` is called once, with the moment at which the job's node time ended."""
        self._settle = account

    def _settle_until(self, moment: float) -> None:
        account, self._settle = self._settle, None
        if account is not None:
            account(moment)

    def acquire(self, plan: Plan, now: float) -> Raised:
        """The warm cluster when it fits `plan`, else a new one, raised from zero."""
        warm = self.current
        if warm and warm.record.offer == snapshot(plan.offer) and warm.cluster.alive():
            self.write_nodes()
            self._settle_until(now)
            warm.since, warm.idle_since = now, None
            return warm
        self.rest()
        return self._raise(plan, now)

    def _raise(self, plan: Plan, now: float) -> Raised:
        cluster_id = f"zs-{uuid.uuid4().hex[:8]}"
        offer = plan.offer
        record = ClusterRecord(
            cluster_id=cluster_id,
            provider=offer.provider,
            state="intended",
            owner=self._owner,
            created_at=now,
            lease_until=now + LEASE_S,
            offer=snapshot(offer),
        )
        self._write(record)
        spec = ClusterSpec(cluster_id, offer.max_nodes, plan.cpus)
        cluster = self._make(offer.provider, spec, self._settings.work_dir)
        log = self._settings.work_dir / f"{cluster_id}-worker.log"
        self.current = Raised(cluster, record, now, log=log)
        try:
            cluster.up()
        except BaseException:
            self.rest(failed=True)
            raise
        self._update(state="up")
        return self.current

    def renew(self, now: float) -> None:
        """Renew the lease and write down the node intervals."""
        self._update(lease_until=now + LEASE_S)

    def write_nodes(self) -> None:
        self._update()

    def release(self, now: float, keep_logs: bool = False) -> None:
        """The job is over: the idle window begins. Logs outlive the cluster when they may help."""
        self._keep_logs |= keep_logs
        if self.current is not None:
            self.current.idle_since = now

    def idle_too_long(self, now: float) -> bool:
        raised = self.current
        if raised is None or raised.idle_since is None:
            return False
        return now - raised.idle_since >= self._settings.idle_window_s

    def rest(self, failed: bool = False) -> None:
        """Take the cluster down and check that it is gone; nothing to do without one."""
        with self._lock:
            raised, self.current = self.current, None
        if raised is None:
            return
        try:
            if raised.cluster.alive() and not failed:
                self._drain(raised)
        finally:
            try:
                raised.cluster.down()
            finally:  # what could not be ended is written down too, and the job is billed
                self._write_gone(raised, failed)

    def _write_gone(self, raised: Raised, failed: bool) -> None:
        now = time.time()
        left = raised.cluster.leftovers()
        raised.record = raised.record.model_copy(
            update={
                "state": "failed" if failed or left else "down",
                "gone_at": None if left else now,
                "lease_until": now,
                "checked": f"{len(left)} processes left" if left else "no process is left",
                "nodes": tuple(raised.cluster.nodes()),
            }
        )
        self._write(raised.record)
        self._settle_until(now)
        if not (failed or left or self._keep_logs):
            raised.cluster.forget()
            raised.log.unlink(missing_ok=True)
        self._keep_logs = False

    def _drain(self, raised: Raised) -> None:
        """Remove the replicas, then let Ray's autoscaler remove the nodes."""
        if not _living(raised.cluster.nodes()):
            return
        try:
            raised.cluster.launch(["retire"], {}, raised.log).wait(RETIRE_S)
        except (ClusterError, subprocess.TimeoutExpired):
            return  # down() ends by id what did not go by itself
        deadline = time.monotonic() + NODES_GONE_S
        while _living(raised.cluster.nodes()) and time.monotonic() < deadline:
            time.sleep(0.1)

    def _update(self, **changes: object) -> None:
        with self._lock:  # the heartbeat's thread and the run's both come here
            raised = self.current
            if raised is not None:
                nodes = tuple(raised.cluster.nodes())
                raised.record = raised.record.model_copy(update={**changes, "nodes": nodes})
                self._write(raised.record)

    def _write(self, record: ClusterRecord) -> None:
        address = clusters_root(self._settings.bucket) / f"{record.cluster_id}.json"
        self._store.write(address, record.model_dump_json(indent=1).encode())


def _living(nodes: Sequence[NodeInterval]) -> list[NodeInterval]:
    return [node for node in nodes if node.gone_at is None]


def cluster_records(store: Store, bucket: str) -> list[ClusterRecord]:
    """Every cluster there ever was, the newest first."""
    found = [
        ClusterRecord.model_validate(json.loads(store.read(each.address)))
        for each in store.list(clusters_root(bucket))
    ]
    return sorted(found, key=lambda record: -record.created_at)
