"""Shield: a teardown is not interrupted by a second Ctrl-C."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SHIELDED = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let SIGINT and SIGTERM pass without effect until the block ends.

    A handler that does nothing, rather than ignoring the signals: what is ignored stays ignored in
    processes started meanwhile, and those must be possible to end.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, _nothing) for number in SHIELDED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _nothing(number: int, frame: FrameType | None) -> None:
    """See `uninterrupted`."""
