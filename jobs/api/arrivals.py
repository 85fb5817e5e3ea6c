"""POST /events: stores tell what has arrived. The sender proves itself, without a key of the API.

What a request may say, and what becomes of it, is `jobs.events`'.
"""

import time

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel

from jobs.api.context import Here
from jobs.api.problem import ApiError, documented

router = APIRouter(tags=["events"])


class Arrived(BaseModel):
    """What became of a request: one line, and the jobs that it has made."""

    message: str
    jobs: list[str]


@router.post("/events", responses=documented(413, 503))
async def events(request: Request, here: Here) -> Arrived:
    """Take the notification of a store: a bearer token, or a signature over time and body."""
    body = await request.body()
    headers = dict(request.headers)
    reply = await run_in_threadpool(here.doors.webhook, headers, body, time.time())
    if reply.status >= 400:
        raise ApiError(reply.status, reply.line)
    return Arrived(message=reply.line, jobs=list(reply.jobs))
