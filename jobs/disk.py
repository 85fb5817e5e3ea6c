"""This machine's disk: what to say when a file of ours can't be written."""

import errno
import tempfile
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT)


def disk_fault(error: OSError, work_dir: Path) -> str:
    """One line; for a full disk with the folders that we write to."""
    if error.errno in FULL:
        folders = " and ".join(dict.fromkeys((str(work_dir), tempfile.gettempdir())))
        return (
            f"no space is left on this machine, under {folders}: free some, or set work_dir and "
            "TMPDIR to folders with room"
        )
    where = f" ({error.filename})" if error.filename else ""
    return f"this machine: {error.strerror or error}{where}"
