"""Events as hints: each folder that they point at is looked at once, whatever they say of it.

Duplicates, stale and reordered events end in the same look, which sees the bucket as it is now.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum

from jobs.addresses import Address
from jobs.errors import ZeroshiftError
from jobs.events.folders import Folders
from jobs.events.messages import ObjectEvent, latest
from jobs.events.notes import Notes
from jobs.events.rules import Hit, Miss, hit
from jobs.submit.submission import Submitted

log = logging.getLogger("zeroshift")


class Seen(IntEnum):
    """What came of an event; the higher, the more there is left to do."""

    DONE = 0
    GONE = 1  # the object is not there, though nothing has said that it was removed
    FAILED = 2


@dataclass(slots=True)
class Sightings:
    """What came of each (bucket, key)."""

    found: dict[tuple[str, str], Seen] = field(default_factory=dict)
    created: list[Submitted] = field(default_factory=list)

    def of(self, events: Iterable[ObjectEvent]) -> Seen:
        """The worst of `events`; of none it is DONE."""
        return max((self.found[event.bucket, event.key] for event in events), default=Seen.DONE)


class Hints:
    """Looks where events point. Not safe between threads without a lock."""

    def __init__(self, folders: Folders, notes: Notes, bucket: str) -> None:
        self._folders, self._notes, self._bucket = folders, notes, bucket

    def see(self, events: Iterable[ObjectEvent]) -> Sightings:
        sightings = Sightings()
        by_folder: dict[Address, list[tuple[ObjectEvent, Hit]]] = {}
        for place, event in latest(events).items():
            sightings.found[place] = Seen.DONE
            where = self._where(event)
            if where is not None:
                by_folder.setdefault(where.folder, []).append((event, where))
        for pointing in by_folder.values():
            self._look(pointing, sightings)
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

    def _look(self, pointing: list[tuple[ObjectEvent, Hit]], sightings: Sightings) -> None:
        where = pointing[0][1]
        try:
            look = self._folders.look(where.folder, where.rule)
            if look.due_at is not None:
                self._notes.put(where.folder, look.due_at)
        except ZeroshiftError as error:
            log.warning("%s: will look again: %s", where.folder, error)
            sightings.found |= {(e.bucket, e.key): Seen.FAILED for e, _ in pointing}
            return
        sightings.created += look.created
        for event, spot in pointing:
            if not spot.marker and event.key not in look.keys:
                sightings.found[event.bucket, event.key] = Seen.GONE
