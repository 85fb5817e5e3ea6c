"""The guard of the pages: a session for each, and nothing changes without the session's token.

The cookie is for this site alone (`SameSite=Strict`), and a request that changes something must
come from a page of ours: by its `Origin`, and by the token that only our pages hold. Where there
are no keys at all, this machine is let in without one, as at the API.
"""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Form, Request, Response
from fastapi.concurrency import run_in_threadpool

from jobs.api.access.guard import ANYBODY, check_local
from jobs.api.access.keys import Key
from jobs.api.context import Context, context_of
from jobs.api.problem import ApiError
from jobs.console.sessions import LASTS_S, Session, Sessions

COOKIE = "zeroshift_session"
PER_REQUEST = "console:"  # its rate is apart from that of the key's programs


class NotSignedIn(Exception):
    """Whoever asks is to sign in first; `was` tells that there was a session, which is over."""

    def __init__(self, was: bool) -> None:
        super().__init__()
        self.was = was


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks at a page; `is_new` when the session has only now begun, without a cookie yet."""

    session: Session
    context: Context
    request: Request
    is_new: bool = False

    @property
    def may_submit(self) -> bool:
        return self.session.key.may("submit")

    @property
    def is_local(self) -> bool:
        return self.session.key == ANYBODY


def sessions_of(request: Request) -> Sessions:
    state = request.app.state
    if not hasattr(state, "sessions"):
        state.sessions = Sessions()
    found: Sessions = state.sessions
    return found


async def _viewer(request: Request) -> Viewer:
    context, sessions = context_of(request), sessions_of(request)
    session, is_new = sessions.find(request.cookies.get(COOKIE)), False
    if await run_in_threadpool(lambda: context.keys.is_empty):
        check_local(context, request)
        if session is None or session.key != ANYBODY:
            session = sessions.start(ANYBODY)
            is_new = True
    elif session is None or not await run_in_threadpool(context.keys.holds, session.key):
        raise NotSignedIn(was=COOKIE in request.cookies)
    request.state.caller = session.key.id
    if context.rates.wait_s(PER_REQUEST + session.id) > 0:
        raise ApiError(429, "Too many requests of this session; wait a moment.")
    if not session.key.may("read"):
        raise ApiError(403, "These pages need a key with the scope read.")
    return Viewer(session, context, request, is_new)


Looking = Annotated[Viewer, Depends(_viewer)]


def check_origin(request: Request) -> None:
    """`ApiError` unless the request comes from a page of this very host."""
    origin = request.headers.get("origin")
    if origin is None:
        is_ours = request.headers.get("sec-fetch-site") == "same-origin"
    else:
        is_ours = origin.partition("://")[2] == request.headers.get("host")
    if not is_ours:
        raise ApiError(403, "This request does not come from a page of the console.")


async def _acting(
    request: Request, viewer: Looking, token: Annotated[str, Form(max_length=200)] = ""
) -> Viewer:
    check_origin(request)
    if not viewer.session.knows(token):
        raise ApiError(403, "This page is too old; nothing was changed. Open it anew, try again.")
    return viewer


async def _submitting(viewer: Annotated[Viewer, Depends(_acting)]) -> Viewer:
    if not viewer.may_submit:
        raise ApiError(403, "This needs a key with the scope submit.")
    return viewer


Acting = Annotated[Viewer, Depends(_acting)]
Submitting = Annotated[Viewer, Depends(_submitting)]


def set_cookie(request: Request, response: Response, session: Session) -> None:
    response.set_cookie(
        COOKIE,
        session.id,
        max_age=int(LASTS_S),
        path="/",
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )


def key_of(context: Context, token: str) -> Key | None:
    """The key that somebody signs in with."""
    return context.keys.find(token.strip())
