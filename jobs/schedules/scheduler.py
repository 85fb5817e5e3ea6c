"""Looks at all schedules and runs what is due; any number may look at the same bucket.

Here is decided what is run and when; `jobs.schedules.running` sees a run through.
"""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, field

from jobs.addresses import JobPaths, schedules_root
from jobs.errors import (
    Conflict,
    NotFound,
    Unreadable,
    ZeroshiftError,
)
from jobs.record import RecordFile
from jobs.schedules.due import Due, due, upcoming
from jobs.schedules.files import ScheduleFile
from jobs.schedules.requests import refuse_rules
from jobs.schedules.running import Runner
from jobs.schedules.schedule import Run, Schedule, run_id
from jobs.settings.settings import Settings
from jobs.store.bucket import Store
from jobs.submit.submission import Submitted

log = logging.getLogger("zeroshift")
PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Scheduler:
    """One process's look at the schedules of a bucket."""

    store: Store
    settings: Settings
    owner: str
    clock: Callable[[], float]
    _idle: dict[str, tuple[str, float]] = field(default_factory=dict)

    @property
    def _runner(self) -> Runner:
        return Runner(self.store, self.settings, self.owner, self.clock)

    def look(self) -> list[Submitted]:
        """Run what is due; answers the jobs that it made. One schedule holds up no other."""
        made: list[Submitted] = []
        for found in list(self.store.list(schedules_root(self.settings.bucket))):
            name, now = found.address.name.removesuffix(".json"), self.clock()
            seen, until = self._idle.get(name, ("", 0.0))
            if seen == found.etag and now < until:
                continue
            try:
                made += self._see(self._file(name).load())
                until = self._next_start(name)
            except Unreadable as error:
                log.warning("%s", error)
                until = math.inf  # until somebody writes it
            except ZeroshiftError as error:
                log.warning("schedule %s: will look again: %s", name, error)
                until = now + PATIENCE_S
            self._idle[name] = (found.etag, until)
        return made

    def _next_start(self, name: str) -> float:
        """Until when there is nothing to do for a schedule, unless somebody changes it."""
        schedule = self._file(name).load()
        if schedule.current or schedule.waiting:
            return 0.0
        if schedule.paused:
            return math.inf
        first = next(upcoming(schedule.plan, schedule.cursor), None)
        return math.inf if first is None else schedule.plan.starts_at(first.timestamp())

    def run_now(self, name: str) -> Run:
        """Run a schedule now, whatever its times and the job before; `Conflict` while another run
        is being made."""
        schedule = self._file(name).load()
        refuse_rules(self.settings, schedule)
        if schedule.current:
            raise Conflict(f"schedule {name}: run {schedule.current} is being made; try again")
        now = float(int(self.clock()))
        run = self._runner.new_run(schedule, now, f"{run_id(now)}-by-hand").model_copy(
            update={"by_hand": True}
        )
        return self._runner.make(schedule, run, last=True)[0]

    def _see(self, schedule: Schedule) -> list[Submitted]:
        made: list[Submitted] = []
        if schedule.current:
            made += self._runner.finish(schedule)
            schedule = self._file(schedule.plan.name).load()
        while not schedule.paused and not schedule.current:
            found = due(schedule, self.clock())
            if found.missed:
                schedule = self._miss(schedule, found)
            if found.run is None:
                break
            refuse_rules(self.settings, schedule)
            held = self._held(schedule, found)
            if held == "wait":
                break
            made += self._decide(schedule, found, skip=held == "skip")
            cursor, schedule = schedule.cursor, self._file(schedule.plan.name).load()
            if schedule.cursor == cursor:
                break  # somebody else is at it
        return made

    def _miss(self, schedule: Schedule, found: Due) -> Schedule:
        first, last, count = found.missed[0], found.missed[-1], len(found.missed)
        name = schedule.plan.name
        cursor = schedule.cursor

        def move(old: Schedule) -> Schedule:
            if old.cursor != cursor:
                return old  # somebody else has told of them
            return old.model_copy(update={"cursor": last, "missed": old.missed + count})

        log.warning(
            "schedule %s: missed %d runs, from %s to %s", name, count, run_id(first), run_id(last)
        )
        return self._file(name).change(move)

    def _held(self, schedule: Schedule, found: Due) -> str:
        """Whether the job before is in the way: "", "skip" or "wait"."""
        plan = schedule.plan
        if plan.overlap == "allow" or not schedule.last_job or self._ended(schedule.last_job):
            return ""
        if plan.overlap == "forbid" and (found.last or plan.catch_up != "all"):
            return "skip"
        if not schedule.waiting:
            log.info("schedule %s: waits for job %s", plan.name, schedule.last_job)
            self._file(plan.name).change(lambda old: old.model_copy(update={"waiting": True}))
        return "wait"

    def _ended(self, job: str) -> bool:
        paths = JobPaths.of(self.settings.bucket, job)
        try:
            return RecordFile(self.store, paths).load().state.ended
        except NotFound:
            return True

    def _decide(self, schedule: Schedule, found: Due, skip: bool) -> list[Submitted]:
        assert found.run is not None
        run = self._runner.new_run(schedule, found.run, run_id(found.run))
        if skip:
            return self._runner.skip(schedule, run, f"job {schedule.last_job} has not ended")
        return self._runner.make(schedule, run, found.last)[1]

    def _file(self, name: str) -> ScheduleFile:
        return ScheduleFile(self.store, self.settings.bucket, name)
