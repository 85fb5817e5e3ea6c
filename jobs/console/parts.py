"""Parts of pages that are brought in anew again and again: made once for all who look, and not sent
to whoever has them already."""

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from jobs.console.guard import Viewer
from jobs.console.pages import answer, render

FRESH_S = 1.0
MOST = 500  # parts; the one that was asked for longest ago goes first
Key = tuple[str, bool]  # address, and whether buttons stand in it


@dataclass(slots=True)
class _Part:
    lock: threading.Lock = field(default_factory=threading.Lock)
    made_at: float = float("-inf")
    html: str = ""


class Parts:
    """Safe to share between threads."""

    def __init__(self, fresh_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._fresh_s, self._clock = fresh_s, clock
        self._parts: OrderedDict[Key, _Part] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key, make: Callable[[], str]) -> str:
        """The part as it was less than `fresh_s` ago; what `make` raises is raised here."""
        with self._lock:
            part = self._parts.setdefault(key, _Part())
            self._parts.move_to_end(key)
            while len(self._parts) > MOST:
                self._parts.popitem(last=False)
        with part.lock:
            if not self._clock() - part.made_at < self._fresh_s:
                part.html = make()
                part.made_at = self._clock()
            return part.html


def live(name: str, viewer: Viewer, values: Callable[[], dict[str, Any]]) -> Response:
    """The part of a template, or 304 when the browser says that it has the same."""
    request = viewer.request
    address = f"{request.url.path}?{request.url.query}"

    def make() -> str:
        return render(name, viewer=viewer, now=time.time(), **values())

    html = parts_of(request, viewer).get((address, viewer.may_submit), make)
    tag = f'"{hashlib.sha256(html.encode()).hexdigest()[:24]}"'
    if request.headers.get("if-none-match") == tag:
        return answer(viewer, "", 304, ETag=tag)
    return answer(viewer, html, ETag=tag)


def parts_of(request: Request, viewer: Viewer) -> Parts:
    state = request.app.state
    if not hasattr(state, "parts"):
        state.parts = Parts(min(FRESH_S, viewer.context.settings.poll_s))
    found: Parts = state.parts
    return found
