"""The jobs, and one job: where it stands, and a few of its rows."""

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response

from jobs.addresses import Address, JobPaths
from jobs.api.ids import checked_job
from jobs.console.guard import Looking, Viewer
from jobs.console.pages import PageRoute, page
from jobs.console.parts import live
from jobs.console.sample import sample_of
from jobs.console.standing import Standing
from jobs.control.resume import budget_of
from jobs.cost.projection import projected_usd
from jobs.cost.receipt import receipt_of
from jobs.errors import NotFound
from jobs.record import Record
from jobs.report import summary
from jobs.report.page import PAGE
from jobs.states import State

router = APIRouter(route_class=PageRoute, include_in_schema=False)
MOST = 100  # jobs on a page

Show = Annotated[Literal["all", "active", "ended"], Query()]
From = Annotated[int, Query(ge=0, le=1_000_000)]


@router.get("/")
def jobs(viewer: Looking, show: Show = "all", start: From = 0) -> Response:
    return page("jobs", viewer, **_listed(viewer, show, start))


@router.get("/live/jobs")
def live_jobs(viewer: Looking, show: Show = "all", start: From = 0) -> Response:
    return live("_jobs", viewer, lambda: _listed(viewer, show, start))


def _listed(viewer: Viewer, show: str, start: int) -> dict[str, Any]:
    now, records = time.time(), viewer.context.shelf.glance()
    active = [record for record in records if not record.state.ended]
    wanted = {"all": records, "active": active}.get(show)
    if wanted is None:
        wanted = [record for record in records if record.state.ended]
    shown = [Standing(record, now) for record in wanted[start : start + MOST]]
    more = start + MOST if len(wanted) > start + MOST else None
    counts = {"all": len(records), "active": len(active), "ended": len(records) - len(active)}
    return {
        "jobs": shown,
        "show": show,
        "counts": counts,
        "start": start,
        "more": more,
        "most": MOST,
    }


@router.get("/jobs/{job_id}")
def job(viewer: Looking, job_id: str) -> Response:
    record = viewer.context.shelf.load(checked_job(job_id))
    stamp, budget = f"{time.time_ns():x}", _budget(viewer, record)
    return page("job", viewer, stamp=stamp, budget=budget, **_seen(viewer, record))


@router.get("/live/jobs/{job_id}")
def live_job(viewer: Looking, job_id: str) -> Response:
    checked_job(job_id)
    return live("_job", viewer, lambda: _seen(viewer, viewer.context.shelf.watched(job_id)))


@router.get("/live/jobs/{job_id}/rows")
def live_rows(viewer: Looking, job_id: str) -> Response:
    checked_job(job_id)
    return live("_rows", viewer, lambda: _sampled(viewer, job_id))


def _sampled(viewer: Viewer, job_id: str) -> dict[str, Any]:
    record = viewer.context.shelf.watched(job_id)
    paths = JobPaths.of(viewer.context.bucket, record.job_id)
    rows = [(row, _said(row)) for row in sample_of(viewer.context.store, paths)]
    return {"rows": rows, "record": record}


def _seen(viewer: Viewer, record: Record) -> dict[str, Any]:
    from jobs.policy.expected import expected_window_s  # with the planner; a server starts without

    store, now = viewer.context.store, time.time()
    idle_s = expected_window_s(viewer.context.settings)
    receipt = receipt_of(store, record) if record.state.ended else None
    has_report = receipt is not None and store.exists(Address.parse(record.output) / PAGE)
    return {
        "job": Standing(record, now),
        "starting": _starting(viewer, record),
        "projected": projected_usd(record, now, idle_s) if not record.state.ended else None,
        "receipt": receipt,
        "bill": summary.bill(receipt) if receipt else None,
        "unused": _unused(receipt) if receipt else [],
        "has_report": has_report,
    }


def _starting(viewer: Viewer, record: Record) -> bool:
    """Whether the job runs and waits for its engine, which tells when it is ready."""
    if record.state is not State.RUNNING:
        return False
    paths = JobPaths.of(viewer.context.bucket, record.job_id)
    return not viewer.context.store.exists(paths.attempt(record.epoch))


def _unused(receipt: Mapping[str, Any]) -> list[str]:
    """Classes of the bill that took no time, which its table leaves out."""
    return [each["phase"] for each in receipt["bill"]["phases"] if not Decimal(each["seconds"])]


def _budget(viewer: Viewer, record: Record) -> Decimal | None:
    here = viewer.context
    with suppress(NotFound):
        return budget_of(record, here.manifest_of(record.job_id))
    return None


def _said(row: dict[str, Any]) -> str:
    """A row's answer, or why there is none, in a line."""
    error = row.get("error")
    if error:
        return f"{error['code']}: {error['message']}"
    return json.dumps(row.get("output"), ensure_ascii=False)
