"""Schedules: when they fire, what became of their runs; paused, resumed and run by hand."""

import os
import re
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response

from jobs.api.problem import ApiError
from jobs.api.shelf import Shelf
from jobs.console.guard import Looking, Submitting, Viewer
from jobs.console.pages import HEADERS, PageRoute, damage_told, page
from jobs.console.parts import live
from jobs.errors import Conflict, NotFound
from jobs.record import Record
from jobs.schedules.due import upcoming
from jobs.schedules.files import ScheduleFile, runs, schedules
from jobs.schedules.fires import find_zone
from jobs.schedules.schedule import Run, Schedule

router = APIRouter(route_class=PageRoute, include_in_schema=False)
NEXT, LAST = 5, 10  # times that are shown, and runs
NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Seen:
    """A schedule at a moment."""

    schedule: Schedule
    now: float

    @property
    def state(self) -> str:
        """`running` is a run that is being made now."""
        if self.schedule.paused:
            return "paused"
        if self.schedule.current:
            return "running"
        return "waiting" if self.schedule.waiting else "active"

    @property
    def zone(self) -> ZoneInfo:
        return find_zone(self.schedule.plan.zone)

    def next(self, count: int = NEXT) -> Sequence[datetime]:
        """The next times, in UTC; none of a schedule that is paused."""
        if self.schedule.paused:
            return ()
        return list(islice(upcoming(self.schedule.plan, self.now), count))


@router.get("/schedules")
def all_schedules(viewer: Looking) -> Response:
    return page("schedules", viewer, **_all(viewer))


@router.get("/live/schedules")
def live_schedules(viewer: Looking) -> Response:
    return live("_schedules", viewer, lambda: _all(viewer))


@router.get("/schedules/{name}")
def one_schedule(viewer: Looking, name: str) -> Response:
    return page("schedule", viewer, **_one(viewer, name))


@router.get("/live/schedules/{name}")
def live_schedule(viewer: Looking, name: str) -> Response:
    return live("_schedule", viewer, lambda: _one(viewer, name))


@router.post("/schedules/{name}/pause")
def pause(viewer: Submitting, name: str) -> Response:
    _file(viewer, name).pause()
    return _back(name)


@router.post("/schedules/{name}/resume")
def resume(viewer: Submitting, name: str) -> Response:
    _file(viewer, name).resume(time.time())
    return _back(name)


@router.post("/schedules/{name}/run")
def run_now(viewer: Submitting, name: str) -> Response:
    """What became of it stands first among the runs."""
    from jobs.schedules.scheduler import Scheduler  # with all that makes a job

    here, owner = viewer.context, f"{socket.gethostname()}-{os.getpid()}"
    file = _file(viewer, name)
    try:
        Scheduler(here.store, here.settings, owner, time.time).run_now(file.name)
    except Conflict as error:
        raise ApiError(409, f"schedule {name}: another run is being made; try again.") from error
    return _back(name)


def _all(viewer: Viewer) -> dict[str, Any]:
    here, now = viewer.context, time.time()
    with damage_told():
        found = [Seen(each, now) for each in schedules(here.store, here.bucket)]
    return {"schedules": found}


def _one(viewer: Viewer, name: str) -> dict[str, Any]:
    here, now = viewer.context, time.time()
    with damage_told():
        seen = Seen(_file(viewer, name).load(), now)
        latest = runs(here.store, here.bucket, name, last=LAST)
    latest.reverse()
    return {"seen": seen, "runs": list(_with_jobs(here.shelf, latest))}


def _with_jobs(shelf: Shelf, found: Sequence[Run]) -> Iterator[tuple[Run, Record | None]]:
    for run in found:
        record = None
        with suppress(NotFound):
            record = shelf.watched(run.job_id) if run.job_id else None
        yield run, record


def _file(viewer: Viewer, name: str) -> ScheduleFile:
    if not NAME.fullmatch(name):
        raise NotFound(f"no schedule {name[:80]!r}")
    return ScheduleFile(viewer.context.store, viewer.context.bucket, name)


def _back(name: str) -> Response:
    return RedirectResponse(f"/schedules/{name}", 303, HEADERS)
