"""Answers from the first moment: /healthz at once, everything else when the app has been loaded.

Imports nothing that takes time; FastAPI, the settings and the store's client come meanwhile, and
the pages last, since nobody's program waits for them.
"""

import asyncio
import json
import threading
from collections.abc import Collection
from typing import Any

BODY = json.dumps({"status": "ok"}).encode()
HEADERS = [(b"content-type", b"application/json"), (b"content-length", str(len(BODY)).encode())]


class Doorstep:
    """An ASGI app in front of another that is still to come."""

    def __init__(self) -> None:
        self._app: Any = None
        self._roots: Collection[str] = ()
        self._begun, self._whole = threading.Event(), threading.Event()

    def open(self, app: Any, roots: Collection[str] | None = None) -> None:
        """From now on `app` answers; from any thread.

        roots   first parts of the paths that it has by now; whoever asks for another one waits
                until it is opened again, without this
        """
        self._app, self._roots = app, roots or ()
        self._begun.set()
        if roots is None:
            self._whole.set()

    def close(self) -> None:
        """There will be nothing more: whoever waits is sent away."""
        self._begun.set()
        self._whole.set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        if self._app is None and scope["path"] == "/healthz" and scope["method"] in ("GET", "HEAD"):
            await _say(send, 200, BODY, HEADERS)  # of which HEAD's sender gets the headers alone
            return
        await _passed(self._begun)
        if _root(scope["path"]) not in self._roots:
            await _passed(self._whole)
        if self._app is None:
            await _say(send, 503, b"", [(b"content-length", b"0")])
        else:
            await self._app(scope, receive, send)


def roots_of(app: Any) -> set[str]:
    """First parts of the paths that an app has routes for."""
    return {_root(route.path) for route in app.routes}


def _root(path: str) -> str:
    return path.split("/")[1] if "/" in path else path


async def _passed(event: threading.Event) -> None:
    if not event.is_set():
        await asyncio.to_thread(event.wait)


async def _say(send: Any, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
