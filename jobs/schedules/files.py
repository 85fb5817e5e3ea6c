"""Schedules and their runs in the bucket: created once, changed by compare-and-swap."""

import uuid
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from difflib import get_close_matches

from jobs.addresses import Address, schedule_runs_root, schedules_root
from jobs.errors import Conflict, NotFound, StoreUnavailable, Unreadable, UserError
from jobs.schedules.schedule import Run, Schedule
from jobs.store.bucket import Store
from jobs.versions import read_noun

ATTEMPTS = 20
WRITES_KEPT = 8


class ScheduleFile:
    """One schedule."""

    def __init__(self, store: Store, bucket: str, name: str) -> None:
        self._store, self._bucket, self.name = store, bucket, name
        self._address = schedules_root(bucket) / f"{name}.json"

    def create(self, schedule: Schedule) -> None:
        body = schedule.model_dump_json(indent=1).encode()
        try:
            self._store.swap(self._address, body)
        except Conflict:
            raise UserError(
                f"there is a schedule {self.name!r} already; allowed: another name, or remove it "
                "first"
            ) from None

    def load(self) -> Schedule:
        try:
            return _schedule(self._store.read(self._address), self._address)
        except NotFound:
            raise self._unknown() from None

    def change(self, change: Callable[[Schedule], Schedule]) -> Schedule:
        """Apply `change` to the newest there is; what it answers unchanged is not written."""
        ours = uuid.uuid4().hex
        for _ in range(ATTEMPTS):
            try:
                body, etag = self._store.read_tagged(self._address)
            except NotFound:
                raise self._unknown() from None
            old = _schedule(body, self._address)
            if ours in old.writes:
                return old  # the answer to our write was lost
            new = change(old)
            if new == old:
                return old
            new = new.model_copy(update={"writes": (*old.writes, ours)[-WRITES_KEPT:]})
            with suppress(Conflict):
                self._store.replace(self._address, new.model_dump_json(indent=1).encode(), etag)
                return new
        raise StoreUnavailable(f"schedule {self.name}: changed {ATTEMPTS} times under us")

    def pause(self) -> Schedule:
        """Let it rest; nothing is made up for later."""
        return self.change(lambda old: old.model_copy(update={"paused": True}))

    def resume(self, now: float) -> Schedule:
        """Go on from `now`; one that is not paused stays as it is."""

        def change(old: Schedule) -> Schedule:
            if not old.paused:
                return old
            return old.model_copy(update={"paused": False, "cursor": now})

        return self.change(change)

    def remove(self) -> None:
        self.load()
        self._store.delete(self._address)

    def _unknown(self) -> NotFound:
        known = [each.plan.name for each in schedules(self._store, self._bucket, set())]
        near = get_close_matches(self.name, known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        return NotFound(f"no schedule {self.name!r}; {hint}known: {', '.join(known) or 'none'}")


def schedules(store: Store, bucket: str, unreadable: set[str] | None = None) -> Iterator[Schedule]:
    """All schedules, by name; `unreadable` gets the names of those of another version, without it
    the first is raised."""
    for found in list(store.list(schedules_root(bucket))):
        try:
            yield _schedule(store.read(found.address), found.address)
        except NotFound:
            continue
        except Unreadable:
            if unreadable is None:
                raise
            unreadable.add(found.address.name.removesuffix(".json"))


class RunFile:
    """One run: whoever creates the object has claimed it."""

    def __init__(self, store: Store, bucket: str, schedule: str, run: str) -> None:
        self._store = store
        self._address = _runs(bucket, schedule) / f"{run}.json"
        self._etag = ""

    def create(self, run: Run) -> None:
        """`Conflict` when there is one already, which may be our own."""
        self._etag = self._store.create(self._address, run.model_dump_json(indent=1).encode())

    def load(self) -> Run:
        body, self._etag = self._store.read_tagged(self._address)
        return _run(body, self._address)

    def save(self, run: Run) -> Run:
        """`Conflict` when somebody else has written it since we did, or read it."""
        body = run.model_dump_json(indent=1).encode()
        self._etag = self._store.swap(self._address, body, self._etag)
        return run


def runs(store: Store, bucket: str, schedule: str, last: int | None = None) -> list[Run]:
    """Every run of a schedule, the oldest first; with `last`, the last so many."""
    found = (each.address for each in store.list(_runs(bucket, schedule)))
    wanted = found if last is None else deque(found, maxlen=last)
    return [_run(store.read(address), address) for address in wanted]


def _schedule(body: bytes, address: Address) -> Schedule:
    return read_noun(Schedule, body, address)


def _run(body: bytes, address: Address) -> Run:
    return read_noun(Run, body, address)


def _runs(bucket: str, schedule: str) -> Address:
    return schedule_runs_root(bucket) / f"{schedule}/"
