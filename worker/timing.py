"""Seconds of a row by stage."""

import time

from jobs.rows import Timing


class Clock:
    """Laps of one row; a stage that comes more than once adds up."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._spent: dict[str, float] = {}

    def lap(self, stage: str) -> None:
        now = time.monotonic()
        self.add(stage, now - self._last)
        self._last = now

    def add(self, stage: str, seconds: float) -> None:
        self._spent[stage] = self._spent.get(stage, 0.0) + seconds

    def timing(self, **more: float) -> Timing:
        """What was spent so far, with more of stages that are not laps."""
        spent = {**self._spent, **more}
        return Timing(**{stage: round(seconds, 4) for stage, seconds in spent.items()})
