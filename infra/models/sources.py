"""Where a checkpoint's files are read from. A folder is read here, a hub in `hub`.

A model in a bucket is read through a `Reader` of the caller's: this package knows no bucket.
"""

from pathlib import Path
from typing import Protocol

from infra.errors import PlanRefused

CONFIG = "config.json"
MOST_BYTES = 128 * 2**20  # far above any configuration or header, far below any weights


class Reader(Protocol):
    """Files of one checkpoint, by their names."""

    def read(self, name: str, length: int | None = None) -> bytes | None:
        """The file, or its first `length` bytes; None when there is no such file."""


class FolderReader:
    """A checkpoint on this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, name: str, length: int | None = None) -> bytes | None:
        path = self._folder / name
        try:
            if not path.is_file():
                return None
            with path.open("rb") as file:
                return file.read(MOST_BYTES if length is None else length)
        except OSError as error:
            raise PlanRefused(f"model: {path} can't be read: {error.strerror}") from error
