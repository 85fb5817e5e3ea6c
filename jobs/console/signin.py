"""Signing in with a key of the API, and out."""

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response

from jobs.api.context import Here
from jobs.api.problem import ApiError
from jobs.console.guard import COOKIE, Acting, check_origin, key_of, sessions_of, set_cookie
from jobs.console.pages import HEADERS, PageRoute, back_to, page, script, style

router = APIRouter(route_class=PageRoute, include_in_schema=False)
TRIES = "sign-in:"


@router.get("/login")
def login(
    here: Here,
    next_: Annotated[str, Query(alias="next", max_length=500)] = "/",
    over: bool = False,
) -> Response:
    if here.keys.is_empty:
        return RedirectResponse("/", 303, HEADERS)
    return page("login", None, next=back_to(next_), wrong="", over=over)


@router.post("/login")
async def sign_in(
    request: Request,
    here: Here,
    key: Annotated[str, Form(max_length=500)],
    next_: Annotated[str, Form(alias="next", max_length=500)] = "/",
) -> Response:
    check_origin(request)
    client = request.client.host if request.client else ""
    if here.rates.wait_s(TRIES + client) > 0:
        raise ApiError(429, "Too many tries; wait a moment.")
    found = await run_in_threadpool(key_of, here, key)
    if found is None or not found.may("read"):
        said = "No such key, or it was revoked." if found is None else "This key may not read."
        return page("login", None, 401, next=back_to(next_), wrong=said, over=False)
    request.state.caller = found.id
    answer = RedirectResponse(back_to(next_), 303, HEADERS)
    set_cookie(request, answer, sessions_of(request).start(found))
    return answer


@router.post("/logout")
def sign_out(request: Request, viewer: Acting) -> Response:
    sessions_of(request).end(viewer.session)
    answer = RedirectResponse("/login", 303, HEADERS)
    answer.delete_cookie(COOKIE, path="/")
    return answer


@router.get("/console.css")
def css() -> Response:
    return Response(style(), media_type="text/css", headers=_FILE)


@router.get("/console.js")
def js() -> Response:
    return Response(script(), media_type="text/javascript", headers=_FILE)


_FILE = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache"}
