"""Bounds on the bodies of requests, told by their length and held to while they come in."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jobs.api.problem import ApiError, problem

UPLOADS = "/v1/files"
AROUND_A_FILE = 64 * 1024  # bytes of a form beside its file


class BodyLimit:
    """An ASGI middleware: 413 for a body of more than `most` bytes, or `most_of_a_file`."""

    def __init__(self, app: ASGIApp, most: int, most_of_a_file: int) -> None:
        self._app, self._most, self._most_of_a_file = app, most, most_of_a_file + AROUND_A_FILE

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = self._most_of_a_file if scope["path"] == UPLOADS else self._most
        message = f"The body is larger than {most} bytes."
        told = dict(scope["headers"]).get(b"content-length", b"0")
        if told.isdigit() and int(told) > most:
            await problem(413, message)(scope, receive, send)
            return
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            received = await receive()
            seen += len(received.get("body", b""))
            if seen > most:
                raise ApiError(413, message)
            return received

        await self._app(scope, counted, send)
