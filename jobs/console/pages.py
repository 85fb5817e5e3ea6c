"""Pages: templates with escaping, headers that let them do little, errors as pages.

A page may load its own style and script, ask its own server, and send its own forms; nothing else.
"""

import re
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from jobs.api.problem import ApiError
from jobs.console.guard import NotSignedIn, Viewer, set_cookie
from jobs.errors import (
    AccessDenied,
    NotFound,
    PermanentError,
    TemporaryError,
    UserError,
    ZeroshiftError,
)
from jobs.report import summary
from jobs.report.page import base_style
from jobs.report.templates import make_environment
from jobs.schedules.fires import said

if TYPE_CHECKING:
    from jinja2 import Environment

POLICY = "; ".join(
    (
        "default-src 'none'",
        "style-src 'self'",
        "script-src 'self'",
        "connect-src 'self'",
        "img-src data:",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    # Not `no-referrer`: with it a browser hides the Origin of our own forms, too.
    "Referrer-Policy": "same-origin",
}
OURS = re.compile(r"/(?!/)[A-Za-z0-9._~/-]*")  # a path of this site, and no other site's address


def page(name: str, viewer: Viewer | None, status: int = 200, **values: Any) -> HTMLResponse:
    """The page of a template, for a viewer or for somebody who is not signed in."""
    html = render(name, viewer=viewer, now=time.time(), **values)
    answer = HTMLResponse(html, status, {"Content-Security-Policy": POLICY, **HEADERS})
    if viewer is not None and viewer.is_new:
        set_cookie(viewer.request, answer, viewer.session)
    return answer


def render(name: str, **values: Any) -> str:
    return _environment().get_template(f"{name}.html.j2").render(**values)


@cache
def _environment() -> "Environment":
    return make_environment(
        "jobs.console",
        "pages",
        money=lambda usd: summary.money(None if usd is None else str(usd)),
        exact=lambda usd: summary.exact(None if usd is None else str(usd)),
        moment=said,
    )


@cache
def style() -> str:
    return base_style() + _file("console.css")


@cache
def script() -> str:
    return _file("console.js")


def _file(name: str) -> str:
    return (files("jobs.console") / "pages" / name).read_text(encoding="utf-8")


class PageRoute(APIRoute):
    """A route whose errors are pages, and which sends to the sign-in whoever is not signed in."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await handle(request)
            except NotSignedIn:
                return _to_sign_in(request)
            except RequestValidationError as error:
                return _problem(400, str(error.errors()[0]["msg"]))
            except HTTPException as error:
                return _problem(error.status_code, str(error.detail))
            except ZeroshiftError as error:
                return _problem(*_said(error))

        return handled


def _to_sign_in(request: Request) -> Response:
    if request.headers.get("x-live"):  # a script asks: it shows what the page says anyway
        return _problem(401, "The session is over; sign in again.")
    return RedirectResponse(f"/login?next={quote(request.url.path)}", 303, HEADERS)


def _said(error: ZeroshiftError) -> tuple[int, str]:
    if isinstance(error, NotFound):
        return 404, str(error)
    if isinstance(error, UserError):
        return 400, str(error)
    if isinstance(error, TemporaryError):
        return 503, "The store does not answer; try again in a moment."
    return 502, "The store refuses a request of ours."


def _problem(status: int, message: str) -> Response:
    return page("problem", None, status, message=message)


@contextmanager
def damage_told() -> Iterator[None]:
    """Name an object of ours that can't be read, to a viewer who is signed in."""
    try:
        yield
    except (NotFound, AccessDenied):
        raise
    except PermanentError as error:
        raise ApiError(502, str(error)) from error


def back_to(path: str) -> str:
    """`path` when it is one of ours, else the first page."""
    return path if OURS.fullmatch(path) else "/"
