"""What every request leaves behind: a line of the audit log, and a count for the metrics.

Who (the key's id, never the token), what, when, with what result. Bodies and queries are not
written down.
"""

import json
import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

audit = logging.getLogger("zeroshift.audit")
# Asked for by machines again and again: written down when they are refused.
QUIET = ("/healthz", "/readyz", "/metrics")
LIVE = "/live/"  # what an open page of the console asks for every second
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


@dataclass(slots=True)
class Counts:
    """Requests by method, route and status; seconds by route."""

    requests: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)


class Audit:
    """An ASGI middleware around the whole app."""

    def __init__(
        self, app: ASGIApp, counts: Counts, clock: Callable[[], float] = time.time
    ) -> None:
        self._app, self._counts, self._clock = app, counts, clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.monotonic()
        status = 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            self._note(scope, status, time.monotonic() - began)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route", None), "path", "unknown")
        # A method can be any word: each would be a series of its own.
        method = scope["method"] if scope["method"] in METHODS else "other"
        self._counts.requests[(method, route, status)] += 1
        self._counts.seconds[route] = self._counts.seconds.get(route, 0.0) + seconds
        is_quiet = scope["path"] in QUIET or scope["path"].startswith(LIVE)
        if not is_quiet or status in (401, 403, 405):
            audit.info("%s", json.dumps(self._line(scope, status, seconds)))

    def _line(self, scope: Scope, status: int, seconds: float) -> dict[str, Any]:
        client = scope.get("client")
        return {
            "at": round(self._clock(), 3),
            "who": scope.get("state", {}).get("caller"),
            "from": client[0] if client else None,
            "what": f"{scope['method'][:20]} {scope['path'][:500]}",
            "status": status,
            "seconds": round(seconds, 3),
        }
