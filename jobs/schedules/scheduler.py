"""Looks at all schedules and runs what is due; any number may look at the same bucket.

A run goes through these steps, and whoever finds it stopped at one goes on from there:

1. it is claimed: its object, named by schedule and nominal time, is created on the condition that
   there is none; the claim ends after a while, and then anybody may take it over;
2. it becomes the schedule's current run, so that no other begins meanwhile;
3. what it takes is written down, with the watermark to come;
4. the job is submitted, under a key that schedule and nominal time give: twice is once;
5. the run has its job, and only then the schedule moves on: cursor and watermark together.
"""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, field

from jobs.addresses import Address, JobPaths, schedules_root
from jobs.errors import (
    AccessDenied,
    Conflict,
    NotFound,
    TemporaryError,
    UserError,
    ZeroshiftError,
)
from jobs.inputs.pin import is_picture
from jobs.manifest.manifest import Budget, Inputs, Manifest, overlap
from jobs.record import RecordFile
from jobs.schedules.due import Due, due, upcoming
from jobs.schedules.files import RunFile, ScheduleFile
from jobs.schedules.schedule import Run, Schedule, run_id
from jobs.schedules.watermark import advanced, news
from jobs.settings.settings import Settings
from jobs.store.bucket import Found, Store
from jobs.submit.planning import plan_for
from jobs.submit.submission import Submitted, submit

log = logging.getLogger("zeroshift")
CLAIM_S = 300.0
PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Scheduler:
    """One process's look at the schedules of a bucket."""

    store: Store
    settings: Settings
    owner: str
    clock: Callable[[], float]
    _idle: dict[str, tuple[str, float]] = field(default_factory=dict)

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
        self.refuse_rules(schedule)
        if schedule.current:
            raise Conflict(f"schedule {name}: run {schedule.current} is being made; try again")
        now = float(int(self.clock()))
        run = self._new_run(schedule, now, f"{run_id(now)}-by-hand").model_copy(
            update={"by_hand": True}
        )
        return self._make(schedule, run, last=True)[0]

    def refuse_rules(self, schedule: Schedule) -> None:
        """`UserError` when a rule makes jobs of the same pictures, or of the results."""
        for rule in self.settings.all_rules:
            for what, text in (("prefix", schedule.plan.prefix), ("output", schedule.plan.output)):
                place = Address.parse(text)
                if place.bucket == self.settings.bucket and overlap(place.key, rule.prefix):
                    raise UserError(
                        f"{what} {text} overlaps the prefix {rule.prefix!r} of rule "
                        f"{rule.known_as!r}; allowed: prefixes apart"
                    )

    def refuse_jobs(self, schedule: Schedule) -> None:
        """`UserError` when no run could ever become a job: its model or its places are wrong."""
        plan = schedule.plan
        if overlap(plan.prefix, plan.output):
            raise UserError(
                f"output {plan.output} overlaps prefix {plan.prefix}; allowed: places apart"
            )
        run = Run(
            id=run_id(schedule.created_at),
            schedule=plan.name,
            nominal=schedule.created_at,
            owner=self.owner,
            claimed_until=schedule.created_at,
            keys=(f"{plan.prefix}1.jpg",),
        )
        plan_for(self._request(schedule, run), self.settings)

    def _see(self, schedule: Schedule) -> list[Submitted]:
        made: list[Submitted] = []
        if schedule.current:
            made += self._finish(schedule)
            schedule = self._file(schedule.plan.name).load()
        while not schedule.paused and not schedule.current:
            found = due(schedule, self.clock())
            if found.missed:
                schedule = self._miss(schedule, found)
            if found.run is None:
                break
            self.refuse_rules(schedule)
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
        run = self._new_run(schedule, found.run, run_id(found.run))
        if not skip:
            return self._make(schedule, run, found.last)[1]
        file, reason = self._run_file(schedule, run.id), f"job {schedule.last_job} has not ended"
        run = run.model_copy(update={"outcome": "skipped_overlap", "reason": reason})
        try:
            file.create(run)
        except Conflict:
            run = file.load()
        if run.outcome == "claimed":
            return self._finish(schedule, file, run)
        log.warning("schedule %s: %s: %s: %s", run.schedule, run.id, run.outcome, run.reason)
        self._move_on(schedule, run)
        return []

    def _make(self, schedule: Schedule, run: Run, last: bool) -> tuple[Run, list[Submitted]]:
        file = self._run_file(schedule, run.id)
        try:
            file.create(run)
        except Conflict:
            run = file.load()
        return self._through(schedule, file, run, last)

    def _finish(
        self, schedule: Schedule, file: RunFile | None = None, run: Run | None = None
    ) -> list[Submitted]:
        """Go on with the current run, when its holder is gone."""
        file = file or self._run_file(schedule, schedule.current)
        return self._through(schedule, file, run or file.load(), last=True)[1]

    def _through(
        self, schedule: Schedule, file: RunFile, run: Run, last: bool
    ) -> tuple[Run, list[Submitted]]:
        """Steps 2 to 5, from where the run stands."""
        made: list[Submitted] = []
        if run.outcome == "claimed":
            if run.owner != self.owner and run.claimed_until > self.clock():
                return run, made  # its holder is at it
            until = self.clock() + CLAIM_S
            run = file.save(run.model_copy(update={"owner": self.owner, "claimed_until": until}))
            schedule = self._become_current(schedule, run)
            if run.keys is None:
                run = file.save(self._chosen(schedule, run, last))
            run, made = self._submitted(schedule, run)
            run = file.save(run)
        self._move_on(schedule, run)
        return run, made

    def _become_current(self, schedule: Schedule, run: Run) -> Schedule:
        this = run.id

        def begin(old: Schedule) -> Schedule:
            if old.current not in ("", this):
                raise Conflict(f"run {old.current} is being made")
            return old.model_copy(update={"current": this})

        return self._file(schedule.plan.name).change(begin)

    def _chosen(self, schedule: Schedule, run: Run, last: bool) -> Run:
        """What is new; a run that is caught up takes what was there at its time."""
        plan, mark = schedule.plan, schedule.watermark
        listing = (f for f in self.store.list(Address.parse(plan.prefix)) if is_picture(f.address))
        found = news(mark, listing, plan.window_s)
        if not last:
            found = [each for each in found if _came(each) <= run.nominal]
        keys = tuple(str(each.address) for each in found)
        ahead = advanced(mark, found, plan.window_s)
        return run.model_copy(update={"keys": keys, "watermark": ahead})

    def _submitted(self, schedule: Schedule, run: Run) -> tuple[Run, list[Submitted]]:
        if not run.keys:
            return run.model_copy(update={"outcome": "nothing_new"}), []
        this = f"schedule {schedule.plan.name}: {run.id}"
        try:
            submitted = submit(self.store, self.settings, self._request(schedule, run))
        except (TemporaryError, AccessDenied):
            raise  # the next look goes on from here
        except ZeroshiftError as error:
            log.error("%s: no job: %s", this, error)
            refused = {"outcome": "refused", "reason": str(error), "watermark": None}
            return run.model_copy(update=refused), []
        job = submitted.record.job_id
        log.info("%s: job %s of %d pictures", this, job, len(run.keys))
        return run.model_copy(update={"outcome": "submitted", "job_id": job}), [submitted]

    def _request(self, schedule: Schedule, run: Run) -> Manifest:
        plan, this = schedule.plan, run.id
        return Manifest(
            name=plan.name,
            inputs=Inputs(keys=run.keys),
            output=f"{plan.output}{this}/",
            model=plan.model,
            task=plan.task,
            labels=plan.labels,
            budget=Budget(max_usd=plan.max_usd),
            idempotency_key=f"schedule {self.settings.bucket} {plan.name} {this}",
        )

    def _move_on(self, schedule: Schedule, run: Run) -> None:

        def move(old: Schedule) -> Schedule:
            mine = old.current == run.id
            if not mine and (old.current or old.cursor >= run.nominal):
                return old  # somebody else has moved it on
            changes: dict[str, object] = {
                "cursor": old.cursor if run.by_hand else max(old.cursor, run.nominal),
                "current": "",
                "waiting": False,
            }
            if mine and run.watermark is not None:
                changes["watermark"] = run.watermark
            if mine and run.job_id:
                changes["last_job"] = run.job_id
            return old.model_copy(update=changes)

        self._file(schedule.plan.name).change(move)

    def _new_run(self, schedule: Schedule, nominal: float, identity: str) -> Run:
        return Run(
            id=identity,
            schedule=schedule.plan.name,
            nominal=nominal,
            owner=self.owner,
            claimed_until=self.clock() + CLAIM_S,
        )

    def _file(self, name: str) -> ScheduleFile:
        return ScheduleFile(self.store, self.settings.bucket, name)

    def _run_file(self, schedule: Schedule, run: str) -> RunFile:
        return RunFile(self.store, self.settings.bucket, schedule.plan.name, run)


def _came(found: Found) -> float:
    return found.modified.timestamp()
