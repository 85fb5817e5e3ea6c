"""A job's report, served: rendered anew from the data in the page that is stored.

The bucket may be written to by others, and a page of theirs would run here as one of ours. So what
is served is our template with the stored page's data, and small pictures that are nothing else. It
also has the bill as it is now.
"""

import re
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response

from jobs.addresses import Address
from jobs.api.ids import checked_job
from jobs.console.guard import Looking
from jobs.console.pages import HEADERS, PageRoute
from jobs.cost.receipt import receipt_of
from jobs.errors import NotFound
from jobs.record import Record
from jobs.report.page import PAGE, parts_of, render
from jobs.report.pictures import CHUNKS, KIND

router = APIRouter(route_class=PageRoute, include_in_schema=False)
CHUNK = re.compile(rb'zeroshiftThumbs\(\d{1,6},\["[A-Za-z0-9+/=]*+"(?:,"[A-Za-z0-9+/=]*+")*+\]\)\n')
NAME = re.compile(re.escape(CHUNKS) + r"\d{5}\.js")


@router.get("/jobs/{job_id}/report/")
def report(viewer: Looking, job_id: str) -> Response:
    record = viewer.context.shelf.load(checked_job(job_id))
    receipt = receipt_of(viewer.context.store, record)
    if receipt is None:
        raise NotFound(f"{job_id} is {record.state.value}: there is no report")
    html = _rendered(viewer.context.store.read(_place(record, PAGE)), receipt, job_id)
    return HTMLResponse(
        html, headers={"Content-Security-Policy": "frame-ancestors 'none'", **HEADERS}
    )


def _rendered(stored: bytes, receipt: dict[str, Any], job_id: str) -> str:
    try:
        facts, blocks = parts_of(stored.decode())
        return render(receipt, facts, blocks)
    except Exception as error:  # whatever somebody made of it
        raise NotFound(f"{job_id}: what is stored as its report is none") from error


@router.get("/jobs/{job_id}/report/{name}")
def pictures(viewer: Looking, job_id: str, name: str) -> Response:
    record = viewer.context.shelf.watched(checked_job(job_id))
    if not NAME.fullmatch(name):
        raise NotFound(f"{job_id} has no {name[:80]!r}")
    body = viewer.context.store.read(_place(record, name))
    if not CHUNK.fullmatch(body):
        raise NotFound(f"{job_id}: {name} holds no small pictures")
    return Response(body, media_type=KIND, headers=HEADERS)


def _place(record: Record, name: str) -> Address:
    return Address.parse(record.output) / name
