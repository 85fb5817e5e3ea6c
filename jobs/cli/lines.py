"""What every command shares and what needs no store: JSON, logs, errors as one line.

It imports little, so that commands that only read the catalogue answer at once. stdout carries the
result, and with --json nothing else; everything else goes to stderr.
"""

import errno
import json
import logging
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from types import FrameType
from typing import Any, NoReturn

from jobs.errors import NotFound, UserError, ZeroshiftError


class Exit(IntEnum):
    COMPLETED = 0
    FAILED = 1
    USER_ERROR = 2
    COMPLETED_WITH_ERRORS = 3
    INTERRUPTED = 130


def fail(message: str, status: Exit) -> NoReturn:
    from jobs.cli.terminal import err  # only here: most commands end well

    err.print(f"[bold red]error:[/] {_plain(message)}")
    sys.exit(status)


def _plain(message: str) -> str:
    return " ".join(message.split()).replace("[", r"\[")


@contextmanager
def errors_as_lines() -> Iterator[None]:
    """Every error of ours becomes one line on stderr and an exit status; no traceback."""
    try:
        yield
    except (UserError, NotFound) as error:
        fail(str(error), Exit.USER_ERROR)
    except ZeroshiftError as error:
        fail(str(error), Exit.FAILED)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _drop_output()
        fail(f"{error.filename or 'output'}: {error.strerror}", Exit.FAILED)
    except KeyboardInterrupt:
        fail("interrupted", Exit.INTERRUPTED)


def _drop_output() -> None:
    """What is left in the buffer of a full disk would fail once more when Python ends."""
    with suppress(OSError, ValueError), open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def end_like_ctrl_c() -> None:
    """Make SIGTERM what Ctrl-C is: the job goes back to the queue and the cluster goes down."""
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2, default=str) + "\n")
    sys.stdout.flush()  # so that a full disk is an error of ours


def escaped(text: str) -> str:
    """What would end a line or steer a terminal is written out: anybody may name an object."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


class OneLine(logging.Formatter):
    """A record's message on one line: a key with a line end in it can't write lines of its own."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (logging's name)
        said = escaped(record.message)
        record.message = said
        return super().formatMessage(record)


def log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine("%(asctime)s %(message)s", "%H:%M:%S"))
    logger = logging.getLogger("zeroshift")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
