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

from jobs.api.problem import ApiError, first_problem
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
# A path of this site, and no other site's address, with plain values that it may be asked with.
OURS = re.compile(r"/(?!/)[A-Za-z0-9._~/-]*(?:\?[A-Za-z0-9._~=&-]*)?")
TITLES = {
    401: "Signed out",
    403: "Not allowed",
    404: "Not found",
    409: "Not now",
    429: "A little slower",
    502: "The store does not do it",
    503: "The store is away",
}


def page(name: str, viewer: Viewer | None, status: int = 200, **values: Any) -> HTMLResponse:
    """The page of a template, for a viewer or for somebody who is not signed in."""
    return answer(viewer, render(name, viewer=viewer, now=time.time(), **values), status)


def answer(viewer: Viewer | None, html: str, status: int = 200, **headers: str) -> HTMLResponse:
    """Markup of ours, with what keeps it to itself."""
    made = HTMLResponse(html, status, {"Content-Security-Policy": POLICY, **HEADERS, **headers})
    if viewer is not None and viewer.is_new:
        set_cookie(viewer.request, made, viewer.session)
    return made


def render(name: str, **values: Any) -> str:
    return _environment().get_template(f"{name}.html.j2").render(**values)


@cache
def _environment() -> "Environment":
    return make_environment(
        "jobs.console",
        "pages",
        money=lambda usd: summary.money(None if usd is None else str(usd)),
        even=lambda usd: summary.even(None if usd is None else str(usd)),
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
            except NotSignedIn as error:
                return _to_sign_in(request, error.was)
            except RequestValidationError as error:
                return _problem(request, 400, str(first_problem(request, error)))
            except HTTPException as error:
                return _problem(request, error.status_code, str(error.detail))
            except ZeroshiftError as error:
                return _problem(request, *_said(error))

        return handled


def _to_sign_in(request: Request, was: bool) -> Response:
    """To the door, which leads back to the page; what was sent with a form is not done later."""
    if request.headers.get("x-live"):  # a script asks: it shows what the page says anyway
        return _problem(request, 401, "The session is over; sign in again.")
    query = f"?{request.url.query}" if request.url.query and request.method == "GET" else ""
    over = "&over=1" if was else ""
    return RedirectResponse(f"/login?next={quote(_page_of(request) + query)}{over}", 303, HEADERS)


def _page_of(request: Request) -> str:
    """The page that is asked for, or that a form stands in: forms go to an address below it."""
    path = request.url.path
    return path if request.method in ("GET", "HEAD") else path.rpartition("/")[0] or "/"


def _said(error: ZeroshiftError) -> tuple[int, str]:
    if isinstance(error, NotFound):
        return 404, str(error)
    if isinstance(error, UserError):
        return 400, str(error)
    if isinstance(error, TemporaryError):
        return 503, "The store does not answer; try again in a moment."
    return 502, "The store refuses a request of ours."


def _problem(request: Request, status: int, message: str) -> Response:
    # A sentence begins with a capital; a name of a job or of a field is as it is.
    said = message[:1].upper() + message[1:] if message.split(" ")[0].isalpha() else message
    title = TITLES.get(status, "That did not work")
    back = back_to(_page_of(request)) if request.method == "POST" else "/"
    return page("problem", None, status, title=title, message=said, back=back)


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
