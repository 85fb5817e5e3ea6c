"""Events as hints: each folder that they point at is looked at once, whatever they say of it.

Duplicates, stale and reordered events end in the same look, which sees the bucket as it is now.
"""

import logging
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial

from jobs.addresses import Address
from jobs.events.folders import Folders, Look
from jobs.events.messages import ObjectEvent, latest
from jobs.events.notes import Notes
from jobs.events.rules import Hit, Miss, hit
from jobs.events.troubles import Troubles
from jobs.submit.submission import Submitted

log = logging.getLogger("zeroshift")


class Seen(IntEnum):
    """What came of an event; the higher, the more there is left to do."""

    DONE = 0
    GONE = 1  # the object is not there, though nothing has said that it was removed
    FAILED = 2


@dataclass(slots=True)
class Sightings:
    """What came of each (bucket, key), and the jobs that were made where it points."""

    found: dict[tuple[str, str], Seen] = field(default_factory=dict)
    made: dict[tuple[str, str], tuple[Submitted, ...]] = field(default_factory=dict)

    def of(self, events: Iterable[ObjectEvent]) -> Seen:
        """The worst of `events`; of none it is DONE."""
        return max((self.found[event.bucket, event.key] for event in events), default=Seen.DONE)

    def jobs(self, events: Iterable[ObjectEvent]) -> tuple[str, ...]:
        """The ids of the jobs that were made where `events` point, each once."""
        made = (each for e in events for each in self.made.get((e.bucket, e.key), ()))
        return tuple(dict.fromkeys(each.record.job_id for each in made))


class Hints:
    """Looks where events point. Not safe between threads without a lock."""

    def __init__(
        self,
        folders: Folders,
        notes: Notes,
        troubles: Troubles,
        bucket: str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folders, self._notes, self._bucket = folders, notes, bucket
        self._troubles, self._monotonic = troubles, monotonic

    def pointing(self, events: Iterable[ObjectEvent]) -> list[ObjectEvent]:
        """Those that point at a folder; nothing is looked at, so no lock is needed."""
        return [event for event in events if self._where(event) is not None]

    def see(self, events: Iterable[ObjectEvent], patience_s: float = math.inf) -> Sightings:
        """Look at each folder once; when `patience_s` seconds are over, note the rest instead.

        Whoever looks at notes, a controller, takes them up. When the patience is over for the
        second time, what is left has FAILED.
        """
        sightings, ends = Sightings(), self._monotonic() + patience_s
        by_folder: dict[Address, list[tuple[ObjectEvent, Hit]]] = {}
        for place, event in latest(events).items():
            sightings.found[place] = Seen.DONE
            where = self._where(event)
            if where is not None:
                by_folder.setdefault(where.folder, []).append((event, where))
        for pointing in by_folder.values():
            late_s = self._monotonic() - ends
            self._look(pointing, sightings, late_s > 0, late_s > patience_s)
        return sightings

    def _where(self, event: ObjectEvent) -> Hit | None:
        """The folder to look at; None where an event starts nothing."""
        if event.kind != "created":
            return None
        where: Hit | Miss = Miss(f"another bucket than {self._bucket}")
        if event.bucket == self._bucket:
            where = hit(self._folders.rules, Address(event.bucket, event.key))
        if isinstance(where, Miss):
            log.info("event of s3://%s/%s: %s", event.bucket, event.key, where.reason)
            return None
        return where

    def _look(
        self,
        pointing: list[tuple[ObjectEvent, Hit]],
        sightings: Sightings,
        late: bool,
        too_late: bool,
    ) -> None:
        where = pointing[0][1]
        how = self._note if late else self._look_and_note
        look = None if too_late else self._troubles.attempt(where.folder, partial(how, where))
        for event, spot in pointing:
            place = (event.bucket, event.key)
            if look is None:
                sightings.found[place] = Seen.FAILED
                continue
            sightings.made[place] = look.created
            if not late and not spot.marker and event.key not in look.keys:
                sightings.found[place] = Seen.GONE

    def _note(self, where: Hit) -> Look:
        now = self._folders.now()
        self._notes.put(where.folder, now)
        return Look(due_at=now)

    def _look_and_note(self, where: Hit) -> Look:
        look = self._folders.look(where.folder, where.rule)
        if look.due_at is not None:
            self._notes.put(where.folder, look.due_at)
        return look
