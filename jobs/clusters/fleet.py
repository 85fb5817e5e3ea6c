"""Raise and rest: the clusters of one controller, from intent to verified teardown.

The intent is in the bucket before anything is created. A warm cluster of the same offer is adopted;
one that has been idle for the window goes down, nodes first, then the head. Meanwhile its lease is
renewed: in the bucket first, then on the cluster, so that a cluster whose controller is gone or cut
off from the bucket ends itself.
"""

import logging
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from infra.clusters import make_cluster
from infra.clusters.base import Cluster, ClusterSpec, NodeInterval
from infra.errors import ClusterError
from infra.planner.plan import Plan
from jobs.cluster_record import ClusterFile, ClusterRecord, cluster_records
from jobs.clusters.estate import settle
from jobs.clusters.intent import intend
from jobs.clusters.owed import Owed
from jobs.clusters.starting import Deadlines, check_start
from jobs.errors import Conflict, ZeroshiftError
from jobs.offers import snapshot
from jobs.plurals import counted
from jobs.policy.clock import IdleClock
from jobs.settings.settings import Settings
from jobs.store.bucket import Store

__all__ = ["ClusterRecord", "Fleet", "MakeCluster", "Raised", "cluster_records"]

log = logging.getLogger("zeroshift")
MakeCluster = Callable[[str, ClusterSpec, Path], Cluster]
RETIRE_S, NODES_GONE_S, LEAVE_S = 60.0, 30.0, 30.0


@dataclass
class Raised:
    """A cluster of ours.

    since      when its present job's node time began
    ready_at   when an engine first answered that job; None: not yet
    waits_since   from when the present driver waits for an engine
    driver_died   the last driver on it ended without a word
    spoiled    it is not ours any more, or did not start: no job gets it, and it goes at once
    """

    cluster: Cluster
    file: ClusterFile
    since: float
    waits_since: float
    ready_at: float | None = None
    driver_died: bool = False
    idle_since: float | None = None
    log: Path = field(default_factory=Path)
    spoiled: bool = False

    @property
    def record(self) -> ClusterRecord:
        return self.file.record

    def record_now(self) -> ClusterRecord:
        """The record with the nodes as they are, also where it can't be written any more."""
        return self.record.model_copy(update={"nodes": tuple(self.cluster.nodes())})

    @property
    def sound(self) -> bool:
        """Whether its head lives, and a node with an engine that has answered."""
        if self.spoiled or self.ready_at is None or not self.cluster.alive():
            return False
        return bool(_living(self.cluster.nodes()))


class Fleet:
    """Holds at most one cluster, since a controller works one job at a time."""

    deadlines = Deadlines()

    def __init__(
        self, store: Store, settings: Settings, owner: str, make: MakeCluster = make_cluster
    ) -> None:
        self._store, self._settings, self._owner, self._make = store, settings, owner, make
        self.current: Raised | None = None
        self._idle = IdleClock(store, settings)
        self._lock = threading.Lock()
        self._keep_logs = False
        self._settle: Callable[[float], None] | None = None
        self._owed = Owed()

    def settle_with(self, account: Callable[[float], None]) -> None:
        """`account` is called with the moment at which the job's node time ended; again, with the
        same moment, while the store does not take what it writes."""
        self._settle = account

    def catch_up(self) -> None:
        """Write what the store did not take when a cluster went or changed hands."""
        self._owed.catch_up()

    def settle_up(self) -> None:
        """The same before the controller leaves: for so long, then the reaper is left to do it."""
        self._owed.settle_up(LEAVE_S)

    def _settle_until(self, moment: float) -> None:
        account, self._settle = self._settle, None
        if account is not None:
            self._owed.write("the bill of a job", partial(account, moment))

    def acquire(self, plan: Plan, now: float, tenant: str = "", epoch: int = 0) -> Raised:
        """The warm cluster when it fits `plan`, else a new one, raised from zero, for `tenant`.

        Each claim has a tenancy of its own, also where a job comes back to the cluster that it was
        on a moment ago; but what is known of the cluster then stays known.
        """
        warm = self.current
        if warm and self._fits(warm, plan, now) and self._adopt(warm, now, tenant, epoch):
            return warm
        self.rest()
        return self._raise(plan, now, tenant, epoch)

    def _adopt(self, warm: Raised, now: float, tenant: str, epoch: int) -> bool:
        """Whether the warm cluster is still ours, and now `tenant`'s."""
        comes_back = tenant != "" and warm.record.tenant == tenant
        if not self._update():
            return False
        self._settle_until(now)
        warm.since, warm.waits_since, warm.idle_since = now, now, None
        if not comes_back:
            warm.ready_at, warm.driver_died = None, False
        return self._update(tenant=tenant, since=now, epoch=epoch)

    def _fits(self, warm: Raised, plan: Plan, now: float) -> bool:
        """A cluster past half of its lifetime might end in the middle of the job."""
        young = now - warm.record.created_at < self._settings.cluster_lifetime_s / 2
        same = warm.record.offer == snapshot(plan.offer)
        return same and young and not warm.spoiled and warm.cluster.alive()

    def _raise(self, plan: Plan, now: float, tenant: str, epoch: int) -> Raised:
        settings = self._settings
        spec, file = intend(self._store, settings, self._owner, plan, now, tenant, epoch)
        cluster = self._make(plan.offer.provider, spec, settings.work_dir)
        file.change(place=cluster.place)
        self.current = raised = Raised(
            cluster, file, now, now, log=settings.work_dir / f"{spec.cluster_id}-worker.log"
        )
        try:
            cluster.up()
            self._update(state="up")
        except BaseException:
            self.rest(failed=True)
            raise
        return raised

    def renew(self, now: float) -> None:
        """Renew the lease: in the bucket first, and only then the cluster's own."""
        lease_s = self._settings.cluster_lease_s
        if not self._update(lease_until=now + lease_s):
            return
        with self._lock:
            if self.current is not None:
                self.current.cluster.renew(lease_s)

    def write_nodes(self) -> None:
        self._update()

    def check_start(self, ready_at: float | None, now: float) -> None:
        """`StartFailed` when the present job waits in vain; its cluster then goes at once."""
        raised = self.current
        if raised is None or ready_at is not None:
            return
        cluster = raised.cluster
        try:
            check_start(cluster.nodes(), raised.waits_since, cluster.refusal(), now, self.deadlines)
        except ClusterError:
            raised.spoiled = True
            raise

    def release(self, now: float, keep_logs: bool = False) -> None:
        """The job is over: the idle window begins. Logs outlive the cluster when they may help."""
        self._keep_logs |= keep_logs
        if self.current is not None:
            self.current.idle_since = now
            self._idle.job_ended(self.current.record, self.current.since, now)

    def idle_too_long(self, now: float) -> bool:
        """By our own clock: whatever Ray believes to be in use."""
        raised = self.current
        if raised is None or raised.idle_since is None:
            return False
        if raised.spoiled or not raised.cluster.alive():
            return True
        idle = self._idle.window(raised.idle_since, raised.record, raised.cluster.nodes())
        if idle.reason != raised.record.idle:
            with suppress(ZeroshiftError):  # a word for the reader: nothing may wait for it
                self._update(idle=idle.reason)
        return now - raised.idle_since >= idle.window_s

    def rest(self, failed: bool = False) -> None:
        """Take the cluster down and check that it is gone; nothing to do without one.

        What is to be written of it waits for the store; the teardown does not.
        """
        if self.current is not None and not failed:
            self._last_lease()
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

    def _last_lease(self) -> None:
        """Nothing is renewed from here on: long enough to drain, and the switch ends what hangs."""
        last_s = RETIRE_S + NODES_GONE_S + self._settings.cluster_lease_s
        with suppress(ZeroshiftError, ClusterError):
            now = time.time()
            ours = self._update(lease_until=now + last_s, drain_at=now)
            if ours and self.current is not None:
                self.current.cluster.renew(last_s)

    def _write_gone(self, raised: Raised, failed: bool) -> None:
        now, account, keep_logs = time.time(), self._settle, self._keep_logs
        self._settle, self._keep_logs = None, False
        left, ended_itself = raised.cluster.leftovers(), raised.cluster.end_reason()
        remaining = f"{counted(len(left), 'process', 'processes')} left"
        checked = remaining if left else "no process is left"
        found = {
            "state": "failed" if failed or left or ended_itself else "down",
            "gone_at": None if left else now,
            "lease_until": now,
            "checked": f"{checked}; it ended itself: {ended_itself}" if ended_itself else checked,
            "nodes": tuple(raised.cluster.nodes()),
        }

        def write() -> None:
            ours = raised.file.close(**found)
            until = now if ours else raised.record.until(now)  # a reaper that was first has told
            if account is not None:
                account(until)
            if not left:  # what its jobs did not account for
                settle(self._store, self._settings.bucket, raised.record, until)
            if not (failed or left or keep_logs):
                raised.cluster.forget()
                raised.log.unlink(missing_ok=True)

        self._owed.write(f"cluster {raised.cluster.cluster_id} and its job's bill", write)

    def _drain(self, raised: Raised) -> None:
        """Remove the replicas, then let Ray's autoscaler remove the nodes."""
        if not _living(raised.cluster.nodes()):
            return
        try:
            raised.cluster.launch(["retire"], {}, raised.log).wait(RETIRE_S)
        except (ClusterError, OSError, subprocess.TimeoutExpired):
            return  # down() ends by id what did not go by itself
        deadline = time.monotonic() + NODES_GONE_S
        while _living(raised.cluster.nodes()) and time.monotonic() < deadline:
            time.sleep(0.1)

    def _update(self, **changes: object) -> bool:
        """Write the record; False when it is not ours any more: then nothing renews the cluster."""
        with self._lock:  # the heartbeat's thread and the run's both come here
            raised = self.current
            if raised is None or raised.spoiled:
                return False
            try:
                raised.file.change(**changes, nodes=tuple(raised.cluster.nodes()))
            except Conflict:
                log.warning("cluster %s was taken from us", raised.cluster.cluster_id)
                raised.spoiled = True
            return not raised.spoiled


def _living(nodes: Sequence[NodeInterval]) -> list[NodeInterval]:
    return [node for node in nodes if node.gone_at is None]
