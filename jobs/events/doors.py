"""All doors as one: what a controller looks at again and again, and what the API calls.

    doors = Doors(store, settings)
    doors.look()                       # queue, notes, listings; answers the jobs that it has made
    doors.webhook(headers, body, now)  # POST /events

It may be shared between threads: one looks at a time.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from jobs.addresses import Address
from jobs.errors import ZeroshiftError
from jobs.events.consumer import Consumer
from jobs.events.folders import Folders
from jobs.events.hints import Hints, Seen, Sightings
from jobs.events.messages import ObjectEvent
from jobs.events.notes import Notes
from jobs.events.queue import Queue
from jobs.events.rules import Hit, hit
from jobs.events.webhook import Refused, Secrets, load_secrets, receive
from jobs.plurals import counted
from jobs.settings.settings import Settings
from jobs.store.bucket import Store
from jobs.submit.submission import Submitted

log = logging.getLogger("zeroshift")


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
        self._store, self._settings, self._monotonic = store, settings, monotonic
        self._folders = Folders(store, settings, now)
        self._notes = Notes(store, settings.bucket)
        self._hints = Hints(self._folders, self._notes, settings.bucket)
        self._consumer = self._make_consumer()
        self._listed_at: float | None = None
        self._secrets: Secrets | None = None
        self._lock = threading.Lock()

    def look(self, wait_s: int = 0) -> list[Submitted]:
        """See to everything once; answers the jobs that were made of folders by listing.

        A folder that can't be looked at holds up no other. `ZeroshiftError` when nothing can.
        """
        if not self._folders.rules:
            return []
        with self._lock:
            if self._consumer is not None:
                self._consumer.consume(wait_s)
            self._take_noted()
            return self._take_listed() if self._listing_is_due() else []

    def take(self, events: Iterable[ObjectEvent]) -> Sightings:
        """Look where `events` point."""
        with self._lock:
            return self._hints.see(events)

    def webhook(self, headers: Mapping[str, str], body: bytes, now: float) -> Reply:
        """Answer a request; 503 asks the sender to send it again."""
        try:
            if self._secrets is None:
                self._secrets = load_secrets(self._settings.events)
        except ZeroshiftError as error:
            log.error("webhook: %s", error)
            return Reply(503, "the webhook is not set up")
        found = receive(headers, body, now, self._settings.events, self._secrets)
        if isinstance(found, Refused):
            log.warning("webhook: refused (%d): %s", found.status, found.reason)
            return Reply(found.status, found.reason)
        seen = self.take(found.events)
        if seen.of(found.events) is Seen.FAILED:
            return Reply(503, "not all could be looked at; send it again")
        jobs = tuple(each.record.job_id for each in seen.created)
        said = f"{counted(len(found.events), 'event')}, {counted(len(jobs), 'job')}"
        return Reply(200, said, jobs)

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

    def _take_noted(self) -> None:
        if not self._settings.events.are_used:
            return  # nobody leaves notes where there are listings alone
        for folder in self._notes.due(self._folders.now()):
            where = hit(self._folders.rules, folder / "_SUCCESS")
            if not isinstance(where, Hit):  # the rule is gone, and what it said with it
                self._notes.drop(folder)
                continue
            try:
                look = self._folders.look(folder, where.rule)
                self._note(folder, look.due_at)
            except ZeroshiftError as error:
                log.warning("%s: will look again: %s", folder, error)

    def _note(self, folder: Address, due_at: float | None) -> None:
        if due_at is None:
            self._notes.drop(folder)
        else:
            self._notes.put(folder, due_at)

    def _take_listed(self) -> list[Submitted]:
        """List all that there is under the rules, and take what is due."""
        created: list[Submitted] = []
        there: set[str] = set()
        for prefix in self._prefixes():
            listing = self._store.list(Address(self._settings.bucket, prefix))
            for folder in self._folders.sorted(listing).values():
                there.add(folder.address.key)
                try:
                    created += self._folders.take(folder).created
                except ZeroshiftError as error:
                    log.warning("%s: will look again: %s", folder.address, error)
        self._folders.settled.keep(there)
        return created

    def _prefixes(self) -> list[str]:
        """The rules' prefixes without those that lie within another."""
        all_of_them = sorted(rule.prefix for rule in self._folders.rules)
        outer: list[str] = []
        for prefix in all_of_them:
            if not (outer and prefix.startswith(outer[-1])):
                outer.append(prefix)
        return outer
