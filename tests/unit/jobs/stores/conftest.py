"""A small S3 on loopback that can be told how to misbehave, and stores that reach it."""

import hashlib
import threading
from collections import deque
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

import pytest

from jobs.store.bucket import Store, StoreOptions
from jobs.store.patience import Patience


class StubS3:
    """Objects in memory, and knobs.

    answers   what the next requests get instead of an answer: (status, code, headers), `lose` to
              do what was asked and then drop the connection, `trickle` to send a byte now and then
    ignores   conditions that are read over; `lacks`: that get 501
    spelling  how etags must be spelled in If-Match; None: either
    keep      what is stored of a body; `lists`: whether listings show anything
    """

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        self.answers: deque[Any] = deque()
        self.ignores: set[str] = set()
        self.lacks: set[str] = set()
        self.spelling: str | None = None
        self.keep: Callable[[bytes], bytes] = lambda body: body
        self.lists = True
        self.lock = threading.Lock()
        self.gone = threading.Event()
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *arguments: object) -> None:
                pass

            def do(self) -> None:
                with stub.lock:
                    stub.serve(self)

            do_GET = do_PUT = do_HEAD = do_DELETE = do  # noqa: N815

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def serve(self, request: Any) -> None:
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        self.seen.append((request.command, request.path, dict(request.headers)))
        planned = self.answers.popleft() if self.answers else None
        if planned == "trickle":
            return self.trickle(request)
        if planned is None or planned == "lose":
            status, headers, answer = self.answer(request, body)
        else:
            status, code, headers = planned
            answer = f"<Error><Code>{code}</Code><Message>m</Message></Error>".encode()
        if planned == "lose":
            request.close_connection = True
            return
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        if "Content-Length" not in headers:
            request.send_header("Content-Length", str(len(answer)))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(answer)

    def trickle(self, request: Any) -> None:
        request.close_connection = True
        request.send_response(200)
        request.send_header("Content-Length", "1000000")
        request.send_header("ETag", '"e"')
        request.end_headers()
        try:
            for _ in range(1000):
                request.wfile.write(b"x")
                request.wfile.flush()
                self.gone.wait(0.01)
        except OSError:  # the other side has had enough
            return

    def answer(self, request: Any, body: bytes) -> tuple[int, dict[str, str], bytes]:
        parts = urlsplit(request.path)
        key, query = unquote(parts.path).lstrip("/").partition("/")[2], parse_qs(parts.query)
        if "list-type" in query:
            return 200, {}, self.listing(query.get("prefix", [""])[0])
        refused = self.condition(request, key)
        if refused:
            return refused, {}, error({501: "NotImplemented", 412: "PreconditionFailed"}[refused])
        if request.command == "PUT":
            self.objects[key] = self.keep(body)
        elif request.command == "DELETE":
            self.objects.pop(key, None)
            return 204, {}, b""
        elif key and key not in self.objects:
            return 404, {}, error("NoSuchKey")
        kept = self.objects.get(key, b"")
        headers = {"ETag": f'"{etag(kept)}"', "Last-Modified": "Mon, 30 Nov 2026 08:00:00 GMT"}
        if request.command == "PUT":
            return 200, headers, b""
        return 200, {**headers, "Content-Length": str(len(kept))}, kept

    def condition(self, request: Any, key: str) -> int | None:
        for name in ("If-None-Match", "If-Match"):
            wanted = request.headers.get(name)
            if wanted is None or name in self.ignores or request.command != "PUT":
                continue
            if name in self.lacks:
                return 501
            there = self.objects.get(key)
            if not self.holds(wanted, there):
                return 412
        return None

    def holds(self, wanted: str, there: bytes | None) -> bool:
        if wanted == "*" or there is None:
            return there is None and wanted == "*"
        spelt = {"bare": etag(there), "quoted": f'"{etag(there)}"'}
        return wanted in ([spelt[self.spelling]] if self.spelling else spelt.values())

    def listing(self, prefix: str) -> bytes:
        items = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{len(body)}</Size><ETag>{etag(body)}</ETag>"
            "<LastModified>2026-11-30T08:00:00Z</LastModified></Contents>"
            for key, body in sorted(self.objects.items())
            if key.startswith(prefix) and self.lists
        )
        return f"<ListBucketResult>{items}</ListBucketResult>".encode()


def etag(body: bytes) -> str:
    return hashlib.md5(body).hexdigest()


def error(code: str) -> bytes:
    return f"<Error><Code>{code}</Code><Message>m</Message></Error>".encode()


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubS3]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "stub")
    stub = StubS3()
    yield stub
    stub.close()


@pytest.fixture
def waits() -> list[float]:
    """The waits of `stubbed`'s store, none of them real."""
    return []


@pytest.fixture
def stubbed(stub: StubS3, waits: list[float]) -> Iterator[Callable[..., Store]]:
    """Makes stores on the stub."""
    made: list[Store] = []

    def make(**options: Any) -> Store:
        patience = Patience(8, sleep=waits.append, draw=lambda low, high: high)
        made.append(Store(StoreOptions(stub.endpoint, **options), patience=patience))
        return made[-1]

    yield make
    for each in made:
        getattr(each._client, "close", lambda: None)()
