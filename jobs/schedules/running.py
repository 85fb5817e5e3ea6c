"""One run of a schedule, from its claim to its job. Whoever finds it stopped goes on from there.

1. it is claimed: its object, named by schedule and nominal time, is created on the condition that
   there is none; the claim ends after a while, and then anybody may take it over;
2. it becomes the schedule's current run, so that no other begins meanwhile;
3. what it takes is written down, with the watermark to come;
4. the job is submitted, under a key that schedule and nominal time give: twice is once;
5. the run has its job, and only then the schedule moves on: cursor and watermark together.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from jobs.addresses import Address
from jobs.errors import AccessDenied, Conflict, TemporaryError, ZeroshiftError
from jobs.inputs.pin import is_picture
from jobs.schedules.files import RunFile, ScheduleFile
from jobs.schedules.requests import request_of
from jobs.schedules.schedule import Run, Schedule
from jobs.schedules.watermark import advanced, news
from jobs.settings.settings import Settings
from jobs.store.bucket import Found, Store
from jobs.submit.submission import Submitted, submit

log = logging.getLogger("zeroshift")
CLAIM_S = 300.0


@dataclass(frozen=True, slots=True)
class Runner:
    """One process's hand on the runs of a bucket's schedules."""

    store: Store
    settings: Settings
    owner: str
    clock: Callable[[], float]

    def new_run(self, schedule: Schedule, nominal: float, identity: str) -> Run:
        """A run of ours that is claimed from now on; nothing is written yet."""
        return Run(
            id=identity,
            schedule=schedule.plan.name,
            nominal=nominal,
            owner=self.owner,
            claimed_until=self.clock() + CLAIM_S,
        )

    def make(self, schedule: Schedule, run: Run, last: bool) -> tuple[Run, list[Submitted]]:
        """Claim a run, or find it claimed, and see it through; answers it and its job."""
        file = self._run_file(schedule, run.id)
        try:
            file.create(run)
        except Conflict:
            run = file.load()
        return self._through(schedule, file, run, last)

    def skip(self, schedule: Schedule, run: Run, reason: str) -> list[Submitted]:
        """Write down that a run falls out; unless somebody has begun with it, who goes on."""
        file = self._run_file(schedule, run.id)
        run = run.model_copy(update={"outcome": "skipped_overlap", "reason": reason})
        try:
            file.create(run)
        except Conflict:
            run = file.load()
        if run.outcome == "claimed":
            return self._through(schedule, file, run, last=True)[1]
        log.warning("schedule %s: %s: %s: %s", run.schedule, run.id, run.outcome, run.reason)
        self._move_on(schedule, run)
        return []

    def finish(self, schedule: Schedule) -> list[Submitted]:
        """Go on with the current run, when its holder is gone."""
        file = self._run_file(schedule, schedule.current)
        return self._through(schedule, file, file.load(), last=True)[1]

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
            submitted = submit(self.store, self.settings, request_of(self.settings, schedule, run))
        except (TemporaryError, AccessDenied):
            raise  # the next look goes on from here
        except ZeroshiftError as error:
            log.error("%s: no job: %s", this, error)
            refused = {"outcome": "refused", "reason": str(error), "watermark": None}
            return run.model_copy(update=refused), []
        job = submitted.record.job_id
        log.info("%s: job %s of %d pictures", this, job, len(run.keys))
        return run.model_copy(update={"outcome": "submitted", "job_id": job}), [submitted]

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

    def _file(self, name: str) -> ScheduleFile:
        return ScheduleFile(self.store, self.settings.bucket, name)

    def _run_file(self, schedule: Schedule, run: str) -> RunFile:
        return RunFile(self.store, self.settings.bucket, schedule.plan.name, run)


def _came(found: Found) -> float:
    return found.modified.timestamp()
