"""One decoder process, from its parent's side: start it, ask it, and end it by its id."""

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from PIL import Image

from jobs.rows import ImageFacts
from worker.errors import PictureError, ShardFailed
from worker.pictures.bounds import Job
from worker.pictures.budget import Share
from worker.pictures.frames import Frame, Unprepared
from worker.pictures.stills import Prepared

CHILD = "worker.pictures.child"
START_S, END_S = 60.0, 2.0
HEAP_BYTES = str(16 << 20)
ENVIRONMENT = {
    # numpy would hold memory for each of its threads.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    # What is freed stays for the next picture up to here, and goes back to the system above: with
    # glibc's own bounds a fifth of the time went into pages taken and given back for each picture.
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": HEAP_BYTES,
    "MALLOC_TRIM_THRESHOLD_": HEAP_BYTES,
}


class TimedOut(Exception):
    """A frame took longer than it may."""


class Died(Exception):
    """The process is gone; by which signal, 0 if by none."""

    def __init__(self, number: int) -> None:
        name = signal.Signals(number).name if number else "an error"
        super().__init__(f"the decoder was ended by {name}")
        self.signal = number


class Work:
    """What has come of one file so far: the frames, and the one that is being decoded."""

    def __init__(self, job: Job, data: bytes) -> None:
        self.job, self.data = job, data
        self.frames: list[Frame] = []
        self.frame = 0


class Decoder:
    """Started when it is first asked. Not for two threads at a time."""

    def __init__(self, memory_mib: int) -> None:
        self._memory_mib = memory_mib
        self._closed = False
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None

    @property
    def pid(self) -> int | None:
        """Of the process, if there is one."""
        return self._process.pid if self._process else None

    def do(self, work: Work, share: Share) -> None:
        """Fill `work.frames`. `PictureError` as the process says; `TimedOut` and `Died` of it.

        After the last two it is ended, and started anew when it is next asked.
        """
        try:
            self._do(work, share)
        except (EOFError, OSError, ValueError, KeyError) as error:  # gone, or it talks nonsense
            raise Died(self._how_it_ended()) from error
        except TimedOut:
            self.end()
            raise

    def _do(self, work: Work, share: Share) -> None:
        connection = self._connection or self._start()
        connection.send_bytes(pickle.dumps(work.job))
        connection.send_bytes(work.data)
        while True:
            message = self._next(connection, work.job.limits.decode_s)
            kind = message["kind"]
            if kind == "done":
                return
            if kind == "error":
                raise PictureError(message["code"], message["message"])
            if kind == "ask":
                work.frame = message["frame"]
                share.raise_to(message["mib"])
                connection.send_bytes(b"go")
            elif kind == "lost":
                error = PictureError(message["code"], message["message"])
                work.frames.append(Unprepared(message["frame"], error))
            else:
                work.frames.append(_prepared(message, connection.recv_bytes()))

    def _next(self, connection: Connection, longest_s: float) -> dict[str, Any]:
        if not connection.poll(longest_s):
            raise TimedOut
        message: dict[str, Any] = json.loads(connection.recv_bytes())
        return message

    def _start(self) -> Connection:
        """Not by `multiprocessing`, which would import the parent's main module: Ray, and vLLM."""
        self._refuse_when_closed()
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", CHILD, str(theirs.fileno()), str(self._memory_mib)],
                pass_fds=[theirs.fileno()],
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        self._connection = connection = Connection(ours.detach())
        with suppress(EOFError, OSError):
            if (
                connection.poll(START_S)
                and connection.recv_bytes() == b"ready"
                and not self._closed
            ):
                return connection
        self.end()
        self._refuse_when_closed()  # by another thread, meanwhile
        raise ShardFailed("a decoder process does not start")

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise ShardFailed("the decoders are closed")

    def _how_it_ended(self) -> int:
        code = 0
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                code = self._process.wait(END_S)
        self.end()
        return max(0, -code)

    def close(self) -> None:
        """End the process, and start no other."""
        self._closed = True
        self.end()

    def end(self) -> None:
        """End the process; idempotent."""
        process, connection = self._process, self._connection
        self._process = self._connection = None
        if process is not None:
            process.kill()
            process.wait()
        if connection is not None:  # after it: who waits at the other end of it has woken
            connection.close()


def _environment() -> dict[str, str]:
    """It finds the same modules as we do, however we came to them."""
    path = os.pathsep.join(place for place in sys.path if place)
    return {**os.environ, **ENVIRONMENT, "PYTHONPATH": path}


def _prepared(message: dict[str, Any], pixels: bytes) -> Prepared:
    facts = ImageFacts.model_validate(message["facts"])
    image = Image.frombytes("RGB", (facts.model_width, facts.model_height), pixels)
    return Prepared(image, facts, tuple(message["warnings"]), message["frame"], message["time_s"])
