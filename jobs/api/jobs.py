"""`/v1/jobs`: our own jobs, from the manifest to the receipt."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel

from jobs.addresses import Address
from jobs.api.access.guard import MayRead, MaySubmit
from jobs.api.context import Context, Here
from jobs.api.events import events_of, is_over
from jobs.api.ids import checked_job
from jobs.api.job_requests import read_request
from jobs.api.paging import After, Limit, page_of
from jobs.api.problem import ApiError, documented
from jobs.closing.results import rows_of
from jobs.control.cancelling import request_cancel
from jobs.manifest.manifest import Manifest
from jobs.record import Record
from jobs.states import State

if TYPE_CHECKING:
    from jobs.submit.submission import Submitted

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], responses=documented(404))
NDJSON = "application/x-ndjson"
MANIFEST = "#/components/schemas/Manifest"  # put into the document by `jobs.api.document`
EXAMPLE = {
    "name": "line-4",
    "inputs": {"prefix": "s3://my-bucket/inbox/line-4/"},
    "model": "zeroshift/parts-inspector",
}
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": MANIFEST}, "example": EXAMPLE}},
    }
}
JobId = str


class Created(BaseModel):
    """`created` is false when the same request had been made before."""

    job: Record
    created: bool
    warnings: tuple[str, ...] = ()


class JobList(BaseModel):
    object: Literal["list"] = "list"
    data: list[Record]
    has_more: bool
    first_id: str | None = None
    last_id: str | None = None


@router.post("", status_code=201, openapi_extra=BODY, responses=documented(404, 409, 413))
async def create_job(
    request: Request,
    response: Response,
    here: Here,
    key: MaySubmit,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=255)] = None,
) -> Created:
    """Submit a manifest; what is wrong with it is said in the words of `submit-job`."""
    body = await request.body()
    submitted = await run_in_threadpool(_submit, here, body, idempotency_key)
    response.status_code = 201 if submitted.created else 200
    response.headers["Location"] = f"/v1/jobs/{submitted.record.job_id}"
    return Created(job=submitted.record, created=submitted.created, warnings=submitted.warnings)


def _submit(here: Context, body: bytes, key: str | None) -> "Submitted":
    manifest = read_request(body, here.settings, key)
    submitted = here.submit(manifest)
    if not submitted.created and manifest.idempotency_key is not None:
        _check_same(here, submitted.record, manifest)
    return submitted


def _check_same(here: Context, record: Record, manifest: Manifest) -> None:
    """One key for two requests is a mistake of the caller's, not the same request twice."""
    from jobs.submit.submission import resolved

    if here.manifest_of(record.job_id) != resolved(manifest):
        raise ApiError(
            409,
            f"This idempotency key made job {record.job_id} of another manifest.",
            "Idempotency-Key",
            "idempotency_key_reused",
        )


@router.get("")
def list_jobs(
    here: Here,
    key: MayRead,
    after: After = None,
    limit: Limit = 20,
    state: Annotated[list[State] | None, Query(description="One or more states.")] = None,
    label: Annotated[
        list[str] | None, Query(max_length=16, description="NAME:VALUE; all must fit.")
    ] = None,
) -> JobList:
    """The jobs, the newest first."""
    wanted = dict(_label(each) for each in label or ())
    records = {record.job_id: record for record in here.shelf.all()}

    def look(job_id: str) -> Record | None:
        record = records[job_id]
        fits = not state or record.state in state
        return record if fits and wanted.items() <= record.labels.items() else None

    page = page_of(list(records), after, limit, look)
    return JobList(
        data=page.data, has_more=page.has_more, first_id=page.first_id, last_id=page.last_id
    )


def _label(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise ApiError(400, f"label: found {text[:80]!r}; allowed: NAME:VALUE.", "label")
    return name, value


@router.get("/{job_id}")
def get_job(job_id: JobId, here: Here, key: MayRead) -> Record:
    """The job's record: where it stands."""
    return here.shelf.load(checked_job(job_id))


@router.post("/{job_id}/cancel")
def cancel_job(job_id: JobId, here: Here, key: MaySubmit) -> Record:
    """Ask for a job to be stopped; what rows there are stay."""
    here.shelf.load(checked_job(job_id))
    return request_cancel(here.store, here.bucket, job_id, time.time())


@router.get(
    "/{job_id}/rows",
    response_class=Response,
    responses={200: {"content": {NDJSON: {}}}, **documented(404, 409)},
)
def job_rows(job_id: JobId, here: Here, key: MayRead) -> StreamingResponse:
    """The rows of a job that has ended, one JSON object a line, as a stream."""
    record = here.shelf.load(checked_job(job_id))
    if not record.state.ended:
        raise ApiError(409, f"{job_id} is {record.state.value}: there are no results yet.")
    return StreamingResponse(_rows(here, record), media_type=NDJSON)


def _rows(here: Context, record: Record) -> Iterator[bytes]:
    yield from rows_of(here.store, Address.parse(record.output))


@router.get("/{job_id}/receipt", responses=documented(404))
def job_receipt(job_id: JobId, here: Here, key: MayRead) -> JSONResponse:
    """What was asked, what came out and what it cost; amounts are decimal strings in USD."""
    from jobs.cost.receipt import receipt_of  # with the bill; a server starts without

    record = here.shelf.load(checked_job(job_id))
    receipt = receipt_of(here.store, record)
    if receipt is None:
        raise ApiError(404, f"{job_id} is {record.state.value}: there is no receipt.")
    return JSONResponse(receipt)


@router.get(
    "/{job_id}/events",
    response_class=Response,
    responses={
        200: {"content": {"text/event-stream": {}}},
        204: {"description": "The job has ended, and its last event was seen."},
        **documented(404),
    },
)
async def job_events(
    job_id: JobId,
    here: Here,
    key: MayRead,
    last_event_id: Annotated[str | None, Header(max_length=200)] = None,
) -> Response:
    """The job's progress as server-sent events `state` and `progress`, until it has ended.

    After a break the browser sends the last id that it saw, and hears what is new.
    """
    record = await run_in_threadpool(here.shelf.watched, checked_job(job_id))
    if is_over(record, last_event_id):
        return Response(status_code=204)
    stream = events_of(here.shelf, job_id, here.settings.poll_s, last_event_id)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)
