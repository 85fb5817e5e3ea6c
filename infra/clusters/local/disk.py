"""A full disk: told in words, and told apart from what else a machine may lack.

On a full disk nothing can be written down about it either, so whoever waits for a cluster looks
himself.
"""

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.errors import NoCapacity

FULL = (errno.ENOSPC, errno.EDQUOT)
LEAST_BYTES = 16 * 1024 * 1024  # with less a node can't even write its logs


def words(error: OSError, place: Path) -> str:
    """What went wrong while something was written at `place`."""
    return f"no space left on {place}" if error.errno in FULL else str(error)


def full(place: Path) -> str:
    """That there is next to no space left; empty while there is some, or nothing is known."""
    try:
        free = shutil.disk_usage(place).free
    except OSError:
        return ""
    return f"no space left on {place}" if free < LEAST_BYTES else ""


@contextmanager
def named(place: Path) -> Iterator[None]:
    """`NoCapacity` when the disk is full; any other error passes."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise NoCapacity(words(error, place)) from error
