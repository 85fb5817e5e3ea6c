"""A network that misbehaves: an HTTP proxy on loopback in front of the embedded store.

While trouble is on, a seeded draw decides for each request whether it is let through, answered
with an error, cut off, held up, or delivered twice. Writes go through one at a time, because the
embedded store's conditional writes are not atomic and that is not what is tried here.
"""

import http.client
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import urlsplit

HOST = "127.0.0.1"
WRITES = ("PUT", "POST", "DELETE")
KINDS = ("500", "503", "reset", "lost", "hang", "truncate", "twice")
Kind = Literal["500", "503", "reset", "lost", "hang", "truncate", "twice"]
ERRORS = {"500": (500, "InternalError"), "503": (503, "SlowDown")}


@dataclass(frozen=True, slots=True)
class Trouble:
    """What happens to which share of the requests.

    500, 503   an error in the store's own form
    reset      the connection breaks before the request is delivered
    lost       the request takes effect and the connection breaks in place of its answer
    hang       nothing for `hang_s` seconds, then the connection breaks
    truncate   the answer's body stops half way
    twice      the request is delivered twice; the client gets the second answer
    """

    kinds: tuple[Kind, ...]
    share: float
    hang_s: float = 2.0


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    reason: str
    headers: list[tuple[str, str]]
    body: bytes


class ChaosProxy:
    """Stands before `upstream`; without trouble it changes nothing."""

    def __init__(self, upstream: str, seed: int = 0) -> None:
        place = urlsplit(upstream)
        self._upstream = (str(place.hostname), int(place.port or 80))
        self._draw = random.Random(seed)
        self._lock, self._writing = threading.Lock(), threading.Lock()
        self._trouble: Trouble | None = None
        self.done: Counter[str] = Counter()
        self._server = _Server((HOST, 0), _handler(self))
        self.url = f"http://{HOST}:{self._server.server_address[1]}"

    @contextmanager
    def serving(self) -> Iterator["ChaosProxy"]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    def trouble(self, trouble: Trouble | None) -> None:
        """From now on; None ends it."""
        with self._lock:
            self._trouble = trouble

    def drawn(self) -> tuple[Kind | None, float]:
        """What happens to the next request, and how long it hangs if that is what happens."""
        with self._lock:
            trouble = self._trouble
            if trouble is None or self._draw.random() >= trouble.share:
                return None, 0.0
            kind = self._draw.choice(trouble.kinds)
            self.done[kind] += 1
            return kind, trouble.hang_s

    def deliver(self, method: str, path: str, headers: Any, body: bytes) -> Reply:
        if method not in WRITES:
            return self._deliver(method, path, headers, body)
        with self._writing:
            return self._deliver(method, path, headers, body)

    def _deliver(self, method: str, path: str, headers: Any, body: bytes) -> Reply:
        connection = http.client.HTTPConnection(*self._upstream, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in headers.items():
                if name.lower() not in ("connection", "expect", "transfer-encoding"):
                    connection.putheader(name, value)
            connection.endheaders(body or None)
            answer = connection.getresponse()
            return Reply(answer.status, answer.reason, answer.getheaders(), answer.read())
        finally:
            connection.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, address: Any) -> None:
        """A client that was killed has nothing to be told."""


def _handler(proxy: ChaosProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def relay(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            kind, hang_s = proxy.drawn()
            if kind in ERRORS:
                self._answer(_error(*ERRORS[kind]))
            elif kind in ("reset", "hang"):
                time.sleep(hang_s if kind == "hang" else 0.0)
                self._break()
            else:
                self._deliver(kind, body)

        def _deliver(self, kind: Kind | None, body: bytes) -> None:
            try:
                for _ in range(2 if kind == "twice" else 1):
                    reply = proxy.deliver(self.command, self.path, self.headers, body)
            except OSError:
                return self._break()
            if kind == "lost":
                return self._break()
            self._answer(reply, cut=kind == "truncate")

        def _answer(self, reply: Reply, cut: bool = False) -> None:
            self.send_response_only(reply.status, reply.reason)
            for name, value in reply.headers:
                if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                    self.send_header(name, value)
            length = str(len(reply.body))
            if self.command == "HEAD":
                length = {n.lower(): v for n, v in reply.headers}.get("content-length", "0")
            self.send_header("Content-Length", length)
            self.end_headers()
            self.wfile.write(reply.body[: len(reply.body) // 2] if cut else reply.body)
            if cut:
                self._break()

        def _break(self) -> None:
            self.close_connection = True
            try:
                self.connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                return

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: there are thousands."""

    for method in ("GET", "HEAD", *WRITES):
        setattr(Handler, f"do_{method}", Handler.relay)
    return Handler


def _error(status: int, code: str) -> Reply:
    body = f"<Error><Code>{code}</Code><Message>as was drawn</Message></Error>".encode()
    return Reply(status, code, [("Content-Type", "application/xml")], body)
