"""What the console may change of a job: cancel it, let one over its budget go on, or run the same
again as a job of its own."""

import time
from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import RedirectResponse, Response

from jobs.api.ids import checked_job
from jobs.api.problem import ApiError
from jobs.console.guard import Submitting
from jobs.console.pages import HEADERS, PageRoute
from jobs.control.cancelling import request_cancel
from jobs.control.resume import new_budget, resume
from jobs.manifest.manifest import Manifest, default_output
from jobs.record import Record

router = APIRouter(route_class=PageRoute, include_in_schema=False)
Stamp = Annotated[str, Form(pattern=r"^[0-9a-f]{6,32}$")]


@router.post("/jobs/{job_id}/cancel")
def cancel(viewer: Submitting, job_id: str) -> Response:
    here = viewer.context
    here.shelf.load(checked_job(job_id))
    request_cancel(here.store, here.bucket, job_id, time.time())
    return RedirectResponse(f"/jobs/{job_id}", 303, HEADERS)


@router.post("/jobs/{job_id}/resume")
def go_on(
    viewer: Submitting, job_id: str, max_usd: Annotated[str, Form(max_length=40)] = ""
) -> Response:
    """With nothing in the field it keeps the budget that it has, when another one stopped it."""
    here = viewer.context
    here.shelf.load(checked_job(job_id))
    budget = new_budget(max_usd.strip()) if max_usd.strip() else None
    manifest = here.manifest_of(job_id)
    resume(here.store, here.settings, job_id, manifest, budget, time.time())
    return RedirectResponse(f"/jobs/{job_id}", 303, HEADERS)


@router.post("/jobs/{job_id}/again")
def again(viewer: Submitting, job_id: str, stamp: Stamp) -> Response:
    """`stamp` is the page's: its form sent twice is one job."""
    here = viewer.context
    record = here.shelf.load(checked_job(job_id))
    if not record.state.ended:
        raise ApiError(
            409, f"{job_id} is {record.state.value}: it can run again when it has ended."
        )
    manifest = here.manifest_of(job_id)
    submitted = here.submit(same_again(manifest, record, stamp))
    return RedirectResponse(f"/jobs/{submitted.record.job_id}", 303, HEADERS)


def same_again(manifest: Manifest, record: Record, stamp: str) -> Manifest:
    """The same request as a job of its own; results that there are stay where they are."""
    changes = {"idempotency_key": f"{record.job_id} again {stamp}"}
    if record.state.succeeded:
        output = (manifest.output or default_output(manifest)).rstrip("/")
        changes["output"] = f"{output}-{stamp}/"
    return manifest.model_copy(update=changes)
