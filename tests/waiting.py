"""Waiting for what other processes do, where no event tells of it."""

import time
from collections.abc import Callable


def eventually(holds: Callable[[], object], seconds: float = 60.0, look_s: float = 0.05) -> bool:
    """Whether it comes to hold within `seconds`, looking every `look_s`."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(look_s)
    return True
