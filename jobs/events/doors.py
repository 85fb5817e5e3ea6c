"""All doors as one: what a controller looks at again and again, and what the API calls.

    doors = Doors(store, settings)
    doors.look()                       # queue, notes, listings; answers the jobs that it has made
    doors.webhook(headers, body, now)  # POST /events

It may be shared between threads: one looks at a time, and requests that wait share a look.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from jobs.addresses import Address
from jobs.errors import ZeroshiftError
from jobs.events.consumer import Consumer
from jobs.events.folders import Folders
from jobs.events.hints import Hints, Seen, Sightings
from jobs.events.listings import Listings
from jobs.events.messages import ObjectEvent
from jobs.events.notes import Notes
from jobs.events.queue import Queue
from jobs.events.rules import Hit, hit
from jobs.events.together import Together
from jobs.events.troubles import Troubles
from jobs.events.webhook import Refused, Secrets, load_secrets, receive, refused_unread
from jobs.plurals import counted
from jobs.settings.settings import Settings
from jobs.store.bucket import Store
from jobs.submit.submission import Submitted

log = logging.getLogger("zeroshift")
LOOK_S = 10.0  # of requests, that senders wait for: what is left then is noted, for a controller


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer to a webhook: a status of HTTP, a line, and the jobs that it has made."""

    status: int
    line: str
    jobs: tuple[str, ...] = ()


class Doors:
    """What starts jobs by itself, for one bucket.

    now   the store's time; by default the store is asked
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        now: Callable[[], float] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings, self._monotonic = settings, monotonic
        self._folders = Folders(store, settings, now)
        self._notes = Notes(store, settings.bucket)
        self._troubles = Troubles(monotonic)
        self._hints = Hints(self._folders, self._notes, self._troubles, settings.bucket, monotonic)
        self._listings = Listings(store, settings, self._folders, self._troubles)
        self._together = Together(partial(self.take, patience_s=LOOK_S))
        self._consumer = self._make_consumer()
        self._listed_at: float | None = None
        self._secrets: Secrets | None = None
        self._lock = threading.Lock()

    def look(self, wait_s: int = 0) -> list[Submitted]:
        """See to everything once; answers the jobs that were made of folders by listing.

        What can't be looked at, a folder or a whole door, holds up no other; see `troubled`.
        """
        if not self._folders.rules:
            return []
        with self._lock:
            self._troubles.lately.clear()
            if self._consumer is not None:
                place = f"queue {self._settings.events.queue_url}"
                self._troubles.attempt(place, partial(self._consumer.consume, wait_s))
            self._troubles.attempt("folders that are noted", self._take_noted)
            return self._listings.take() if self._listing_is_due() else []

    @property
    def troubled(self) -> list[str]:
        """What the last look could not look at; why is in the log."""
        return sorted(self._troubles.lately)

    def take(self, events: Sequence[ObjectEvent], patience_s: float = math.inf) -> Sightings:
        """Look where `events` point; after `patience_s` seconds the rest is noted for later."""
        with self._lock:
            return self._hints.see(events, patience_s)

    def refuse(self, headers: Mapping[str, str], now: float) -> Reply | None:
        """The answer to who has proved nothing, before any of the body is read; else None."""
        secrets = self._known_secrets()
        if isinstance(secrets, Reply):
            return secrets
        found = refused_unread(headers, now, self._settings.events, secrets)
        return None if found is None else _refusal(found)

    def webhook(self, headers: Mapping[str, str], body: bytes, now: float) -> Reply:
        """Answer a request; 503 asks the sender to send it again."""
        secrets = self._known_secrets()
        if isinstance(secrets, Reply):
            return secrets
        found = receive(headers, body, now, self._settings.events, secrets)
        if isinstance(found, Refused):
            return _refusal(found)
        # What starts nothing waits for no look: a store whose writers wait until it has told us of
        # their object would wait for a look that writes objects, and that look for the store.
        events = self._hints.pointing(found.events)
        seen = self._together.see(events) if events else Sightings()
        if seen.of(events) is Seen.FAILED:
            return Reply(503, "not all could be looked at; send it again")
        if found.unread:
            return _refusal(Refused(400, f"some of it can't be read: {found.unread}"))
        jobs = seen.jobs(events)
        said = f"{counted(len(found.events), 'event')}, {counted(len(jobs), 'job')}"
        return Reply(200, said, jobs)

    def _known_secrets(self) -> Secrets | Reply:
        try:
            if self._secrets is None:
                self._secrets = load_secrets(self._settings.events)
        except ZeroshiftError as error:
            log.error("webhook: %s", error)
            return Reply(503, "the webhook is not set up")
        return self._secrets

    def _make_consumer(self) -> Consumer | None:
        events = self._settings.events
        if events.queue_url is None:
            return None
        return Consumer(Queue(events, self._settings.region), self._hints, events.visibility_s)

    def _listing_is_due(self) -> bool:
        events = self._settings.events
        every = events.list_every_s if events.are_used else 0.0
        last, now = self._listed_at, self._monotonic()
        if last is not None and now - last < every:
            return False
        self._listed_at = now
        return True

    def _take_noted(self) -> bool:
        if not self._settings.events.are_used:
            return True  # nobody leaves notes where there are listings alone
        for folder in self._notes.due(self._folders.now()):
            self._troubles.attempt(folder, partial(self._look_at_noted, folder))
        return True

    def _look_at_noted(self, folder: Address) -> bool:
        where = hit(self._folders.rules, folder / "_SUCCESS")
        due_at = None  # without a rule: it is gone, and what it said with it
        if isinstance(where, Hit):
            due_at = self._folders.look(folder, where.rule).due_at
        if due_at is None:
            self._notes.drop(folder)
        else:
            self._notes.put(folder, due_at)
        return True


def _refusal(found: Refused) -> Reply:
    log.warning("webhook: refused (%d): %s", found.status, found.reason)
    return Reply(found.status, found.reason)
