"""The decoder process: `python -m worker.pictures.child`. It decodes one file after the other.

Nothing of it is trusted by its parent: it answers with plain bytes. It ends by itself: when its
parent is gone, when a frame takes too long, and, by the kernel, when it takes too much memory.
"""

import json
import os
import pickle
import resource
import signal
import sys
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from worker.errors import PictureError
from worker.pictures.bounds import Job
from worker.pictures.frames import Unprepared, prepare_all
from worker.pictures.stills import Prepared

GRACE_S = 2.0  # after the time of a frame, in which the parent comes first
LOOK_S = 1.0
MIB = 1 << 20


def main() -> int:
    connection = Connection(int(sys.argv[1]))
    _confine(int(sys.argv[2]))
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    try:
        connection.send_bytes(b"ready")
        while True:
            job: Job = pickle.loads(connection.recv_bytes())  # from our parent, nobody else
            _work(connection, job, connection.recv_bytes())
    except (EOFError, OSError):  # the parent has closed its end, or is gone
        return 0


def _confine(memory_mib: int) -> None:
    with suppress(ValueError, OSError):  # macOS knows no such bound
        resource.setrlimit(resource.RLIMIT_AS, (memory_mib * MIB, memory_mib * MIB))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # The alarm ends the process without the interpreter's help, which a hung decoder may hold.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when it ends


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_S)
    os._exit(0)


def _work(connection: Connection, job: Job, data: bytes) -> None:
    """Answer with any number of frames, then with `done` or `error`."""
    longest_s = job.limits.decode_s + GRACE_S

    def admit(frame: int, mib: float) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        _tell(connection, kind="ask", frame=frame, mib=mib)
        connection.recv_bytes()
        signal.setitimer(signal.ITIMER_REAL, longest_s)

    signal.setitimer(signal.ITIMER_REAL, longest_s)
    try:
        for each in prepare_all(data, job.family, job.limits, job.selection, admit):
            _give(connection, each)
            signal.setitimer(signal.ITIMER_REAL, longest_s)
        _tell(connection, kind="done")
    except PictureError as error:
        _tell(connection, kind="error", code=error.code, message=str(error))
    except MemoryError:
        _tell(connection, kind="error", code="decode_memory", message="out of memory")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _give(connection: Connection, each: Prepared | Unprepared) -> None:
    if isinstance(each, Unprepared):
        error = each.error
        _tell(connection, kind="lost", frame=each.frame, code=error.code, message=str(error))
        return
    _tell(
        connection,
        kind="frame",
        frame=each.frame,
        time_s=each.time_s,
        facts=each.facts.model_dump(),
        warnings=each.warnings,
    )
    connection.send_bytes(each.image.tobytes())


def _tell(connection: Connection, **message: Any) -> None:
    connection.send_bytes(json.dumps(message).encode())


if __name__ == "__main__":
    sys.exit(main())
