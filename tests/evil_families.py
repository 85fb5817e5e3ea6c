"""Families that do to a decoder what a broken decoder does: they are asked where pictures are read.

A module of its own, because a decoder process imports it.
"""

import os
import re
import signal
from dataclasses import dataclass
from pathlib import Path

from worker.families import Family

SMALL = Family(28, 3136, 100 * 784, "model_pixels")


@dataclass(frozen=True, slots=True)
class Evil:
    """Does `deed` when it sees a picture of the width 66; all others are prepared as usual."""

    deed: str
    folder: str = ""

    def model_size(self, width: int, height: int) -> tuple[int, int]:
        """As a good family would say, if it lives."""
        if width == 66:
            getattr(self, self.deed)()
        return SMALL.model_size(width, height)

    def hang(self) -> None:
        """Holds the interpreter, as a hung C library may: no thread of ours could end it."""
        re.match(r"(a+)+$", "a" * 64 + "b")

    def segfault(self) -> None:
        """As a decoder that writes where it must not."""
        os.kill(os.getpid(), signal.SIGSEGV)

    def killed(self) -> None:
        """As by a kernel that is out of memory."""
        os.kill(os.getpid(), signal.SIGKILL)

    def killed_once(self) -> None:
        """As by a kernel whose memory another had taken."""
        mark = Path(self.folder) / "killed"
        if not mark.exists():
            mark.touch()
            self.killed()

    def leave(self) -> None:
        """As a library that calls `exit`."""
        os._exit(3)

    def gorge(self) -> None:
        """Takes more memory than a decoder may have."""
        bytearray(1 << 40)
