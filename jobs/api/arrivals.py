"""POST /events: stores tell what has arrived. The sender proves itself, without a key of the API.

What a request may say, and what becomes of it, is `jobs.events`'. Here it is taken in: the headers
first, so that who proves nothing has nothing held for it, then a body that is neither large nor
slow. Threads that wait for a look are apart from those of the API.
"""

import asyncio
import time
from typing import TYPE_CHECKING

from anyio import to_thread
from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.requests import ClientDisconnect

from jobs.api.context import Here
from jobs.api.problem import ApiError, documented

if TYPE_CHECKING:
    from jobs.events.doors import Reply

router = APIRouter(tags=["events"])
BODY_S = 30.0  # for all of a body


class Arrived(BaseModel):
    """What became of a request: one line, and the jobs that were made of it."""

    message: str
    jobs: list[str]


@router.post("/events", responses=documented(408, 413, 503))
async def events(request: Request, here: Here) -> Arrived:
    """Take the notification of a store: a bearer token, or a signature over time and body."""
    headers = dict(request.headers)
    doors = await to_thread.run_sync(here.doors)
    _check(doors.refuse(headers, time.time()))
    body = await _body(request, here.settings.events.max_body_bytes)
    reply = await to_thread.run_sync(
        doors.webhook, headers, body, time.time(), limiter=here.waiting_for_a_look
    )
    _check(reply)
    return Arrived(message=reply.line, jobs=list(reply.jobs))


def _check(reply: "Reply | None") -> None:
    if reply is not None and reply.status >= 400:
        raise ApiError(reply.status, reply.line)


async def _body(request: Request, most: int) -> bytes:
    """The body; `ApiError` as soon as it is too large, when it is too slow, and when it ends."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            async for piece in request.stream():
                body += piece
                if len(body) > most:
                    raise ApiError(413, f"body of more than {most} bytes")
    except TimeoutError:
        raise ApiError(408, f"the body did not come within {BODY_S:g} s") from None
    except ClientDisconnect:
        raise ApiError(400, "the sender went before its body was there") from None
    return bytes(body)
