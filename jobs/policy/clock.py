"""The idle clock of a controller: what it saw of jobs and clusters, and the window it decides.

Reads the bucket: once, what the latest jobs were, and after that each job's record when it has
ended. A bucket that does not answer costs precision, and no more: then break-even decides.
"""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from infra.clusters.base import NodeInterval
from jobs.addresses import JobPaths
from jobs.cluster_record import ClusterRecord
from jobs.errors import NotFound, ZeroshiftError
from jobs.policy.costs import CostModel
from jobs.policy.history import History
from jobs.policy.idle import BreakEven, Decision
from jobs.policy.learned import Learned
from jobs.policy.measured import assumed_on, costs_of, latest
from jobs.record import Record, RecordFile
from jobs.settings.settings import Settings
from jobs.store.bucket import Store

log = logging.getLogger("zeroshift")
JOBS_READ = 50  # of those before this controller's time
JOBS_KEPT = 500


@dataclass(frozen=True, slots=True)
class _Seen:
    """A job: when it arrived, what it worked, and the window that was decided before it."""

    at: float
    work_s: float
    window_s: float | None = None


@dataclass(frozen=True, slots=True)
class _Ended:
    """A job that is over, whose record was not read yet; `cold`: it began with its cluster."""

    job_id: str
    took_s: float
    cold: bool
    window_s: float | None


class IdleClock:
    """One decision for each time that a cluster has nothing to do."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._settings = store, settings
        self._ended: list[_Ended] = []
        self._known: set[str] = set()
        self._seen: list[_Seen] | None = None
        self._decision: Decision | None = None

    def job_ended(self, cluster: ClusterRecord, since: float, now: float) -> None:
        """A job of `cluster` is over, whose node time began at `since`: decide anew."""
        window = None if self._decision is None else self._decision.window_s
        cold = since <= cluster.created_at
        self._ended.append(_Ended(cluster.tenant, now - since, cold, window))
        self._decision = None

    def window(
        self, idle_since: float, cluster: ClusterRecord, nodes: Sequence[NodeInterval]
    ) -> Decision:
        """How long `cluster` waits from `idle_since`; the same until another job has ended."""
        window = self._settings.idle_window_s
        if window != "auto":
            return Decision(window, "set by idle_window_s")
        if self._decision is None:
            launched = [node.launched_at for node in nodes if node.gone_at is None]
            age_s = max(0.0, idle_since - min(launched, default=idle_since))
            self._decision = self._decide(idle_since, cluster, age_s)
            decided = self._decision
            log.info("%s: waits %.0f s: %s", cluster.cluster_id, decided.window_s, decided.reason)
        return self._decision

    def _decide(self, idle_since: float, cluster: ClusterRecord, age_s: float) -> Decision:
        try:
            job = self._record(cluster.tenant)
            costs = costs_of(self._store, self._settings.bucket, job.model, cluster.offer)
            return Learned(costs).window_s(idle_since, self._history(costs), age_s)
        except ZeroshiftError as error:
            log.warning("the idle window is decided without history: %s", error)
            costs = assumed_on(cluster.offer)
            return BreakEven(costs).window_s(idle_since, History(costs), age_s)

    def _history(self, costs: CostModel) -> History:
        """The jobs so far, imagined at what a restart costs by now."""
        history = History(costs)
        for job in self._jobs(costs.start_s):
            if job.window_s is not None:
                history.decided(job.window_s)
            history.arrived(job.at, job.work_s)
        return history

    def _jobs(self, start_s: float) -> list[_Seen]:
        if self._seen is None:
            self._seen = self._before()
        while self._ended:
            job = self._ended[0]
            if job.job_id not in self._known:
                work_s = max(0.0, job.took_s - (start_s if job.cold else 0.0))
                at = self._record(job.job_id).created_at
                self._seen.append(_Seen(at, work_s, job.window_s))
                self._known.add(job.job_id)
            del self._ended[0]
        self._seen = sorted(self._seen, key=lambda each: each.at)[-JOBS_KEPT:]
        return self._seen

    def _before(self) -> list[_Seen]:
        found = []
        for each in latest(self._store, self._settings.bucket, JOBS_READ):
            with suppress(NotFound):
                found.append(_Seen(self._record(each.job_id).created_at, each.work_s))
                self._known.add(each.job_id)
        return found

    def _record(self, job_id: str) -> Record:
        return RecordFile(self._store, JobPaths.of(self._settings.bucket, job_id)).load()
