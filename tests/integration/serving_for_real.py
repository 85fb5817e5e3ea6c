"""A real `zeroshift serve` over an embedded store, and somebody who is told of its jobs' ends."""

import hashlib
import hmac
import json
import os
import re
import subprocess
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from demo.store import embedded_store
from jobs.store.bucket import Store

BUCKET, SECRET = "doors", "only for this test"
PATIENCE_S = 500.0  # a cold start on a machine that is busy with others


@dataclass(frozen=True)
class Letter:
    """A message as it came."""

    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> Any:
        return json.loads(self.body)

    @property
    def is_signed(self) -> bool:
        """By the scheme's own words: HMAC-SHA256 over id, time and body, joined by dots."""
        head = f"{self.headers['webhook-id']}.{self.headers['webhook-timestamp']}."
        made = hmac.new(SECRET.encode(), head.encode() + self.body, hashlib.sha256).digest()
        return self.headers["webhook-signature"] == f"v1,{b64encode(made).decode()}"


@dataclass
class Served:
    """The process, where it listens, what it said, and a key for it once there are keys; `letters`
    are what others were told."""

    process: subprocess.Popen[str]
    url: str
    store: Store
    environment: dict[str, str]
    folder: Path
    letters: list[Letter]
    said: list[str] = field(default_factory=list)
    key: str = "none is needed"

    def cli(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command of the product's beside the server, with the same settings."""
        return subprocess.run(
            [sys.executable, "-m", "jobs.cli", *arguments],
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )

    def until(self, look: Callable[[], Any], every_s: float = 0.2) -> Any:
        """What `look` answers once it answers something; asked again as a client would."""
        ends = time.monotonic() + PATIENCE_S
        while not (found := look()):
            assert self.process.poll() is None, "\n".join(self.said[-30:])
            assert time.monotonic() < ends, "\n".join(self.said[-30:])
            time.sleep(every_s)
        return found


@contextmanager
def serving(folder: Path) -> Iterator[Served]:
    """The server on a free port, working; told to end at the end, which it must do in order."""
    with embedded_store(BUCKET) as store, _told() as (address, letters):
        environment = {
            **os.environ,
            "ZEROSHIFT_BUCKET": BUCKET,
            "ZEROSHIFT_ENDPOINT_URL": str(store.options.endpoint_url),
            "ZEROSHIFT_IDLE_WINDOW_S": "30",  # for who is slow to ask next
            "ZEROSHIFT_POLL_S": "0.5",
            "ZEROSHIFT_SHARD_SIZE": "4",
            "ZEROSHIFT_WEBHOOK__URL": address,
            "WEBHOOK_SECRET": SECRET,
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "jobs.cli", "serve", "--port", "0"],
            env=environment,
            cwd=folder,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        try:
            first = process.stderr.readline()
            found = re.search(r"at (http://\S+) and works", first)
            assert found, first + process.stderr.read()
            served = Served(process, found[1], store, environment, folder, letters)
            reader = threading.Thread(target=served.said.extend, args=(process.stderr,))
            reader.start()
            yield served
            process.terminate()
            assert process.wait(PATIENCE_S) == 0, "\n".join(served.said[-30:])
            reader.join()
        finally:
            process.kill()  # where it has ended, this does nothing
            process.wait()
            process.stderr.close()


@contextmanager
def _told() -> Iterator[tuple[str, list[Letter]]]:
    """An address that takes messages, and the messages."""
    letters: list[Letter] = []

    class Taker(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            letters.append(Letter(headers, body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Taker)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/ended", letters
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
