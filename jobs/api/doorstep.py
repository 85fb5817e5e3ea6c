"""Answers from the first moment: /healthz at once, everything else when the app has been loaded.

Imports nothing that takes time; FastAPI, the settings and the store's client come meanwhile.
"""

import asyncio
import json
import threading
from typing import Any

BODY = json.dumps({"status": "ok"}).encode()
HEADERS = [(b"content-type", b"application/json"), (b"content-length", str(len(BODY)).encode())]


class Doorstep:
    """An ASGI app in front of another that is still to come."""

    def __init__(self) -> None:
        self._app: Any = None
        self._loaded = threading.Event()

    def open(self, app: Any) -> None:
        """From now on `app` answers; from any thread."""
        self._app = app
        self._loaded.set()

    def close(self) -> None:
        """There will be no app: whoever waits is sent away."""
        self._loaded.set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        if self._app is None and scope["path"] == "/healthz" and scope["method"] == "GET":
            await _say(send, 200, BODY, HEADERS)
            return
        if self._app is None:
            await asyncio.to_thread(self._loaded.wait)
        if self._app is None:
            await _say(send, 503, b"", [(b"content-length", b"0")])
        else:
            await self._app(scope, receive, send)


async def _say(send: Any, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
