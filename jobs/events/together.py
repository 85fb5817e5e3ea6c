"""Many who ask at once are answered by one look: whoever waits while another looks shares the next.

A look that begins after an event has come sees what it tells of, whoever's event it is. So a burst
of requests about a folder costs a few listings of it rather than one each.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jobs.events.hints import Sightings
from jobs.events.messages import ObjectEvent


@dataclass(slots=True, eq=False)
class _Waiting:
    events: Sequence[ObjectEvent]
    seen: Sightings | None = None


class Together:
    """Calls `see`, which must let one in at a time, with the events of all who wait."""

    def __init__(self, see: Callable[[list[ObjectEvent]], Sightings]) -> None:
        self._see = see
        self._turn, self._lock = threading.Lock(), threading.Lock()
        self._waiting: list[_Waiting] = []

    def see(self, events: Sequence[ObjectEvent]) -> Sightings:
        """What came of `events`, and of others beside them."""
        mine = _Waiting(events)
        with self._lock:
            self._waiting.append(mine)
        with self._turn:
            if mine.seen is None:
                self._see_with_others(mine)
        assert mine.seen is not None, "whoever takes the turn sees to all who waited"
        return mine.seen

    def _see_with_others(self, mine: _Waiting) -> None:
        with self._lock:
            group, self._waiting = self._waiting, []
        if mine not in group:  # the look that had it broke
            group.append(mine)
        seen = self._see([event for each in group for event in each.events])
        for each in group:
            each.seen = seen
