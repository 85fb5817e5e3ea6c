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
from collections.abc import Callable
from functools import partial

from infra.clusters import make_cluster, make_sweeper
from jobs import presence
from jobs.abilities import require_fit
from jobs.addresses import JobPaths
from jobs.bucket import Store
from jobs.errors import Conflict, NotFound, TemporaryError, ZeroshiftError
from jobs.events.doors import Doors
from jobs.fleet import Fleet, MakeCluster
from jobs.lease import LEASE_S, Heartbeat, Rounds
from jobs.queue import dequeue, queued
from jobs.reaper import MakeSweeper, Reaper
from jobs.record import Record, RecordFile, claimed
from jobs.run import JobRun
from jobs.schedules.scheduler import Scheduler
from jobs.settings import Settings
from jobs.shield import uninterrupted

log = logging.getLogger("zeroshift")
REAP_EVERY_S = 300.0


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
    ) -> None:
        self.name = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:6]}"
        self._store, self._settings, self._engine, self._clock = store, settings, engine, clock
        self._fleet = Fleet(store, settings, self.name, make)
        self._doors = Doors(store, settings)
        self._scheduler = Scheduler(store, settings, self.name, clock)
        self._reaper = Reaper(store, settings.bucket, self.name, sweeper, clock)
        self._lease_s = settings.cluster_lease_s

    def watch(self, stop: threading.Event) -> None:
        """Work until `stop` is set; then the cluster goes down and the presence ends.

        While the store does not answer there is nothing to do but to look again.
        """
        self._check_store()
        try:
            doors = Rounds(self._wait_at_doors, self._settings.poll_s, "doors")
            with self._heartbeat(), Rounds(self._reap, REAP_EVERY_S, "reaper"), doors:
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
            with self._heartbeat(), Rounds(self._reap, REAP_EVERY_S, "reaper"):
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
        for job_id in queued(self._store, self._settings.bucket):
            if self.run(job_id) is not None:
                return True
        return False

    def _later(self) -> bool:
        """Wait a little for a job that waits after a setback; False when there is none."""
        records = [self._load(job) for job in queued(self._store, self._settings.bucket)]
        waits = [each.not_before - self._clock() for each in records if each and not each.owner]
        if not any(wait > 0 for wait in waits):
            return False
        time.sleep(min(self._settings.poll_s, max(waits)))
        return True

    def _load(self, job_id: str) -> Record | None:
        try:
            return RecordFile(self._store, JobPaths.of(self._settings.bucket, job_id)).load()
        except NotFound:
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

    def run(self, job_id: str) -> Record | None:
        """Claim and run a job; None when it can't be claimed."""
        paths = JobPaths.of(self._settings.bucket, job_id)
        record = self._claim(paths)
        if record is None:
            return None
        file = RecordFile(self._store, paths)

        def renew() -> None:
            now = self._clock()
            change = {"lease_until": now + self._lease_s}
            file.change(lambda old: old.model_copy(update=change), record.epoch)
            self._fleet.renew(now)

        log.info("%s: claimed", job_id)
        run = JobRun(
            self._store, self._settings, self._fleet, paths, record, self._engine, self._clock
        )
        with Heartbeat(renew, self._lease_s):
            try:
                ended = run.run()
            except Conflict as error:
                log.warning("%s", error)
                return None
        log.info("%s: %s %s", job_id, ended.state, ended.reason)
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
        if record.state.ended:
            dequeue(self._store, self._settings.bucket, record.job_id)
            return None
        return record if record.owner == self.name else None

    def _heartbeat(self) -> Heartbeat:
        return Heartbeat(self._beat, min(LEASE_S, self._lease_s))

    def _reap(self) -> None:
        """End what dead controllers left; a cluster of our own holds a live lease."""
        for reaped in self._reaper.reap():
            log.log(logging.ERROR if reaped.alarm else logging.WARNING, "%s", reaped.line)

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
                self._fleet.rest()
            finally:
                presence.leave(self._store, self._settings.bucket, self.name)
