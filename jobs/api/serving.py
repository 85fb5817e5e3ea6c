"""One process that serves and works: the server in a thread, the controller in the main one.

In this order, since a signal interrupts the main thread alone, and it is the controller that has
something to hand back: its job goes to the queue again and its cluster goes down. Imports little;
what is slow comes while /healthz is answered already.
"""

import errno
import socket
import threading
import time
from types import TracebackType
from typing import Self

import uvicorn

from jobs.api.doorstep import Doorstep
from jobs.errors import UserError

GRACE_S = 3  # for requests that are still answered when the server is to end
STARTED_S = 10.0
HIGHEST_PORT = 65535


class Server:
    """Listens from its making on, serves within the `with` block; what to serve comes later."""

    def __init__(self, host: str, port: int) -> None:
        self.doorstep = Doorstep()
        self._socket = _listen(host, port)
        self.host, self.port = self._socket.getsockname()[:2]
        config = uvicorn.Config(
            self.doorstep,
            http="h11",
            ws="none",
            loop="asyncio",
            lifespan="off",
            interface="asgi3",
            access_log=False,
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=GRACE_S,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._serve, name="server", daemon=True)
        # Not Thread.join: Python 3.11 takes a thread for ended whose join a signal has interrupted.
        self._ended = threading.Event()

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def _serve(self) -> None:
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._ended.set()

    def __enter__(self) -> Self:
        """Answers /healthz when it returns: what is imported next keeps nobody waiting."""
        self._thread.start()
        ends = time.monotonic() + STARTED_S
        while not (self._ended.is_set() or self._server.started) and time.monotonic() < ends:
            time.sleep(0.005)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.doorstep.close()
        self._server.should_exit = True
        self._ended.wait(GRACE_S + STARTED_S)
        self._socket.close()

    def wait(self) -> None:
        """Until the server has ended, which a signal alone brings about."""
        while not self._ended.wait(1.0):
            pass


def _listen(host: str, port: int) -> socket.socket:
    if not 0 <= port <= HIGHEST_PORT:
        raise UserError(f"port: found {port}; allowed: 0 to {HIGHEST_PORT}; see --port")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=128)
    except UnicodeError as error:  # no name of a host can be so long
        raise UserError(f"{host}: no name of a host; see --host") from error
    except OSError as error:
        why = "the port is taken" if error.errno == errno.EADDRINUSE else str(error)
        raise UserError(f"{host}:{port}: {why}; see --host and --port") from error
