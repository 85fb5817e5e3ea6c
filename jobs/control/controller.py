"""The controller: looks for work, runs one job at a time, rests its cluster when it has been idle.

Nothing is kept in memory that the bucket does not have: a controller that dies is followed by
another, which claims its jobs when their leases have run out.
"""

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from infra.clusters import make_cluster, make_sweeper
from jobs.addresses import JobPaths
from jobs.clusters.fleet import Fleet, MakeCluster
from jobs.clusters.reaper import MakeSweeper, Reaped, Reaper
from jobs.clusters.shield import uninterrupted
from jobs.control import presence
from jobs.control.abilities import require_fit
from jobs.control.budget_watch import BudgetKeeper
from jobs.control.held_job import HeldJob
from jobs.control.run import JobRun
from jobs.control.suspects import Suspects
from jobs.errors import Conflict, NotFound, TemporaryError, Unreadable, ZeroshiftError
from jobs.events.doors import Doors
from jobs.lease import LEASE_S, TOLERATED, Heartbeat, Rounds
from jobs.policy.batching import held
from jobs.queue import dequeue, queued
from jobs.record import Record, RecordFile, claimed
from jobs.schedules.scheduler import Scheduler
from jobs.settings.settings import Settings
from jobs.states import State
from jobs.store.bucket import Store
from jobs.telling.outbox import Outbox
from jobs.versions import PassedOver

log = logging.getLogger("zeroshift")
REAP_EVERY_S = 60.0  # or a lease, if that is less; `jobs.clusters.orphans` says what a round costs
SUSPECTS_EVERY_S = 5.0  # costs nothing while there are none
OUTBOX_EVERY_S = 5.0


class Controller:
    """One process that works jobs; any number may share a bucket."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        engine: str = "vllm",
        clock: Callable[[], float] = time.time,
        make: MakeCluster = make_cluster,
        sweeper: MakeSweeper = make_sweeper,
        outbox: Outbox | None = None,
    ) -> None:
        self.name = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:6]}"
        self._store, self._settings, self._engine, self._clock = store, settings, engine, clock
        self._fleet = Fleet(store, settings, self.name, make)
        self._doors = Doors(store, settings)
        self._scheduler = Scheduler(store, settings, self.name, clock)
        self._keeper = BudgetKeeper(store, settings, clock)
        self._lease_s = settings.cluster_lease_s
        self._reaper = Reaper(store, settings.bucket, self.name, sweeper, clock, self._lease_s)
        self._suspects = Suspects(self._reaper)
        self._outbox = outbox
        self._passed_over = PassedOver()

    def watch(self, stop: threading.Event) -> None:
        """Work until `stop` is set; then the cluster goes down and the presence ends.

        While the store does not answer there is nothing to do but to look again.
        """
        self._check_store()
        try:
            doors = Rounds(self._wait_at_doors, self._settings.poll_s, "doors")
            with self._heartbeat(), self._reaping(), self._suspecting(), self._letters(), doors:
                while not stop.is_set():
                    if not self._safely(self._look) and not stop.wait(self._settings.poll_s):
                        self._safely(self._rest_if_idle)
        finally:
            self.leave()

    def _check_store(self) -> None:
        """`UserError` when claims could not hold on this store, beside who is there already."""
        found = require_fit(self._store, self._settings.bucket, self.name)
        log.log(logging.INFO if found.many_controllers else logging.WARNING, found.line())

    def _look(self) -> bool:
        self._beat()
        return self._work()

    def _safely(self, act: Callable[[], bool]) -> bool:
        try:
            return act()
        except TemporaryError as error:
            log.warning("will look again: %s", error)
            return False

    def once(self) -> None:
        """Work until nothing is left to do, then take the cluster down and return."""
        self._check_store()
        try:
            with self._heartbeat(), self._reaping(), self._suspecting(), self._letters():
                self._beat()
                while self.look() or self._later():
                    pass
        finally:
            self.leave()

    def look(self) -> bool:
        """Take in what has arrived or is due, and run one job; False when there was none to run."""
        self._take_in()
        return self._work()

    def _work(self) -> bool:
        self._fleet.catch_up()
        for job_id in self._not_held(queued(self._store, self._settings.bucket)):
            if self.run(job_id) is not None:
                return True
        return False

    def _not_held(self, jobs: list[str]) -> list[str]:
        """Without those that may wait for another job to share their cold start."""
        if self._fleet.current is not None:
            return jobs
        now, records = self._clock(), [self._load(job) for job in jobs]
        free = [each for each in records if each and not each.owner and each.not_before <= now]
        left = {each.job_id for each in free if held(now, each.hold_until, False, len(free) - 1)}
        return [job for job in jobs if job not in left]

    def _later(self) -> bool:
        """Wait a little for a job that is held or waits after a setback; False without one.

        One whose time came since the last look counts: nobody else may be there to work it.
        """
        records = [self._load(job) for job in queued(self._store, self._settings.bucket)]
        free = [each for each in records if each and not each.owner and not each.state.ended]
        waits = [max(each.not_before, each.hold_until) - self._clock() for each in free]
        if not waits:
            return False
        time.sleep(min(self._settings.poll_s, max(0.0, *waits)))
        return True

    def _load(self, job_id: str) -> Record | None:
        try:
            return RecordFile(self._store, JobPaths.of(self._settings.bucket, job_id)).load()
        except NotFound:
            return None
        except Unreadable as error:
            self._passed_over.tell(job_id, error)
            return None

    def _wait_at_doors(self) -> None:
        """Beside the job that runs: what arrives and what is due is written down at once."""
        self._take_in(self._settings.events.wait_s)

    def _take_in(self, wait_s: int = 0) -> None:
        for door in (self._scheduler.look, partial(self._doors.look, wait_s)):
            try:
                door()
            except ZeroshiftError as error:
                log.error("doors: %s", error)
            except Exception:  # of ours: it keeps neither the other door nor the queue shut
                log.exception("doors: will look again")

    def run(self, job_id: str) -> Record | None:
        """Claim and run a job; None when it can't be claimed, or was lost.

        A job that goes on with another driver on the same cluster is claimed anew by its owner.
        """
        paths = JobPaths.of(self._settings.bucket, job_id)
        ended = None
        while (record := self._claim(paths)) is not None:
            ended = self._run_claimed(paths, record)
            if ended is None or ended.owner != self.name or ended.state is not State.QUEUED:
                break
        return ended

    def _run_claimed(self, paths: JobPaths, record: Record) -> Record | None:
        file = RecordFile(self._store, paths)

        def renew() -> None:
            now = self._clock()
            change = {"lease_until": now + self._lease_s}
            file.change(lambda old: old.model_copy(update=change), record.epoch)
            self._fleet.renew(now)

        log.info("%s: claimed", record.job_id)
        job = HeldJob(self._store, paths, record, self._clock)
        run = JobRun(job, self._settings, self._fleet, self._engine, keeper=self._keeper)
        with Heartbeat(renew, self._lease_s):
            try:
                ended = run.run()
            except (Conflict, Unreadable) as error:
                log.warning("%s", error)
                return None
        log.info("%s: %s %s", record.job_id, ended.state, ended.reason)
        return ended

    def _claim(self, paths: JobPaths) -> Record | None:
        file = RecordFile(self._store, paths)
        try:
            now = self._clock()
            record = file.change(lambda old: claimed(old, self.name, now, self._lease_s))
        except NotFound:
            return None  # queued a moment ago, its record is on its way
        except Conflict:
            return None
        except Unreadable as error:
            self._passed_over.tell(paths.job_id, error)
            return None
        if record.state.ended:
            dequeue(self._store, self._settings.bucket, record.job_id)
            return None
        if record.owner != self.name:
            return None
        self._suspects.add(record)
        return record

    def _heartbeat(self) -> Heartbeat:
        return Heartbeat(self._beat, min(LEASE_S, self._lease_s))

    def _letters(self) -> AbstractContextManager[object]:
        """Tell who is to be told of jobs that have ended, those of before a restart too."""
        if self._outbox is None:
            return nullcontext()
        return Rounds(self._outbox.round, OUTBOX_EVERY_S, "outbox")

    def _reaping(self) -> Rounds:
        """End what dead controllers left; a cluster of our own holds a live lease."""
        every_s = min(REAP_EVERY_S, self._lease_s)
        return Rounds(lambda: _tell(self._reaper.reap()), every_s, "reaper")

    def _suspecting(self) -> Rounds:
        return Rounds(lambda: _tell(self._suspects.reap()), SUSPECTS_EVERY_S, "suspects")

    def _beat(self) -> None:
        presence.announce(self._store, self._settings.bucket, self.name)
        self._fleet.renew(self._clock())

    def _rest_if_idle(self) -> bool:
        due = self._fleet.idle_too_long(self._clock())
        if due:
            self.rest()
        return due

    def rest(self) -> None:
        """Take the cluster down now."""
        self._fleet.rest()

    def leave(self) -> None:
        """Take the cluster down and end the presence; a second Ctrl-C does not cut it short."""
        with uninterrupted():
            try:
                if self._fleet.current is not None:
                    log.info("ending: the cluster goes down, which takes some seconds")
                self._fleet.rest()
            finally:
                self._fleet.settle_up()
                try:
                    _tell(self._suspects.reap())  # `submit-job --wait` has no rounds
                    presence.leave(self._store, self._settings.bucket, self.name)
                except TOLERATED as error:
                    log.warning("left without a last word: %s", error)


def _tell(reaped: Iterable[Reaped]) -> None:
    for each in reaped:
        log.log(logging.ERROR if each.alarm else logging.WARNING, "%s", each.line)
