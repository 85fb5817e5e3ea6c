"""What could not be looked at waits, longer each time, and holds up nothing else.

A place is a folder, a prefix or the queue. Whatever goes wrong there, a fault of ours too, is one
line in the log. The next look tries again; from then on the place is left alone for a time that
doubles, so that one that stays broken costs neither requests nor a line at every look.
"""

import logging
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from jobs.errors import TemporaryError, ZeroshiftError

log = logging.getLogger("zeroshift")
Answer = TypeVar("Answer")
FIRST_S = 5.0
MOST_S = 600.0
MOST_BUSY_S = 15.0  # a store that was away is looked at soon after
MOST_PLACES = 10_000


@dataclass(frozen=True, slots=True)
class _Trouble:
    times: int
    until: float


class Troubles:
    """Of the places of one bucket. Not safe between threads without a lock."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._known: dict[str, _Trouble] = {}
        self.lately: set[str] = set()

    def attempt(self, place: object, act: Callable[[], Answer]) -> Answer | None:
        """What `act` answers; None when it failed, and while `place` waits because it did."""
        name = str(place)
        known = self._known.get(name)
        if known is not None and self._monotonic() < known.until:
            self.lately.add(name)
            return None
        try:
            answer = act()
        except Exception as error:  # of ours, too: one folder must not keep others from being taken
            self._note(name, known, error)
            return None
        self._known.pop(name, None)
        return answer

    def _note(self, name: str, known: _Trouble | None, error: Exception) -> None:
        times = known.times + 1 if known else 1
        most = MOST_BUSY_S if isinstance(error, TemporaryError) else MOST_S
        wait_s = min(most, FIRST_S * 2 ** min(times - 2, 10)) if times > 1 else 0.0
        self.lately.add(name)
        self._known.pop(name, None)
        self._known[name] = _Trouble(times, self._monotonic() + wait_s)
        if len(self._known) > MOST_PLACES:
            del self._known[next(iter(self._known))]
        again = f"will look again in {wait_s:g} s" if wait_s else "will look again"
        level = logging.WARNING if isinstance(error, TemporaryError) else logging.ERROR
        log.log(level, "%s: %s (%s): %s", name, again, _times(times), _line(error))


def _times(times: int) -> str:
    return "failed once" if times == 1 else f"failed {times} times"


def _line(error: Exception) -> str:
    """In one line; of a fault of ours with where it happened."""
    said = " ".join(str(error).split())
    if isinstance(error, ZeroshiftError):
        return said
    frames = traceback.extract_tb(error.__traceback__, limit=-1)
    where = "".join(f" ({frame.filename}:{frame.lineno})" for frame in frames)
    return f"{type(error).__name__}: {said}{where}"
