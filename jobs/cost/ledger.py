"""The ledger in the bucket: entries by day, written once, read as a stream.

Nothing here holds more than one entry at a time, so a month of jobs is read in the memory of one.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from itertools import islice

from jobs.addresses import Address, ledger_root
from jobs.cost.entry import NOBODY, Entry, read_entry
from jobs.errors import Conflict, Unreadable
from jobs.store.bucket import Store

FEW_DAYS = 40  # that are listed one by one, whether they have entries or not
READERS = 16  # objects are small: their reading is waiting
DAY = timedelta(days=1)


def write(store: Store, bucket: str, entries: Iterable[Entry]) -> None:
    """Add entries; one that is there already stays as it is, whatever its day."""
    for entry in entries:
        if not _is_known(store, bucket, entry):
            with suppress(Conflict):
                body = entry.model_dump_json().encode()
                store.create(day_root(bucket, day_of(entry.until)) / entry.name, body)


def _is_known(store: Store, bucket: str, entry: Entry) -> bool:
    """Whether the tenancy was written under another day: by a controller that was taken for dead,
    or by the reaper, just before midnight."""
    day, after = day_of(entry.until), day_of(entry.until) + DAY
    others = {max(day - DAY, day_of(entry.since)), after} - {day}
    return any(store.exists(day_root(bucket, each) / entry.name) for each in others)


def entries(
    store: Store,
    bucket: str,
    since: date | None = None,
    until: date | None = None,
    unreadable: list[Address] | None = None,
) -> Iterator[Entry]:
    """Every entry of the days from `since` to `until`, both included; None: no bound.

    In the order of days, then of names. What is no entry, or one of a later version, is added to
    `unreadable` for whoever says how many there are; without it `Unreadable` names the first.
    """
    yield from _read(store, _addresses(store, bucket, since, until), unreadable)


def entries_of(
    store: Store, bucket: str, job_id: str | None, since: float, until: float
) -> Iterator[Entry]:
    """Every entry of one job, or with None nobody's, between two moments."""
    first, last = day_of(since), day_of(until)
    named = _named(store, bucket, f"{job_id or NOBODY}-", first, last + DAY)
    # A job's name may begin with another's.
    yield from (entry for entry in _read(store, named) if entry.job_id == job_id)


def entries_on(
    store: Store, bucket: str, node_id: str, since: float, until: float
) -> Iterator[Entry]:
    """Every entry of one node between two moments."""
    every = _named(store, bucket, "", day_of(since), day_of(until) + DAY)
    mine = (each for each in every if f"-{node_id}-" in each.name)
    yield from (each for each in _read(store, mine) if each.node and each.node.node_id == node_id)


def _named(store: Store, bucket: str, start: str, first: date, last: date) -> Iterator[Address]:
    """Objects of some days whose names begin so; of many days, those that there are."""
    if (last - first).days < FEW_DAYS:
        days = [day_root(bucket, first + n * DAY) for n in range((last - first).days + 1)]
    else:
        days = list(_days(store, bucket, first, last))
    for root in days:
        yield from (found.address for found in store.list(root / start))


def _addresses(
    store: Store, bucket: str, since: date | None, until: date | None
) -> Iterator[Address]:
    for day in _days(store, bucket, since, until):
        yield from (found.address for found in store.list(day))


def _days(store: Store, bucket: str, since: date | None, until: date | None) -> Iterator[Address]:
    """The days that have entries."""
    root = ledger_root(bucket)
    for year in store.folders(root):
        for month in store.folders(year):
            for day in store.folders(month):
                at = _parsed(day.key.removeprefix(root.key))
                if at is None or (since and at < since) or (until and at > until):
                    continue
                yield day


def _parsed(folder: str) -> date | None:
    try:
        return datetime.strptime(folder, "%Y/%m/%d/").replace(tzinfo=UTC).date()
    except ValueError:  # not ours
        return None


def _read(
    store: Store, addresses: Iterable[Address], unreadable: list[Address] | None = None
) -> Iterator[Entry]:
    with ThreadPoolExecutor(READERS, thread_name_prefix="ledger") as threads:
        for some in _batched(addresses, 4 * READERS):
            for address, body in zip(some, threads.map(store.read, some), strict=True):
                try:
                    yield read_entry(body)
                except ValueError as error:
                    if unreadable is None:
                        said = " ".join(str(error).split())
                        raise Unreadable(f"{address} is no entry of the ledger: {said}") from error
                    unreadable.append(address)


def _batched(addresses: Iterable[Address], size: int) -> Iterator[list[Address]]:
    ahead = iter(addresses)
    while some := list(islice(ahead, size)):
        yield some


def day_of(moment: float) -> date:
    return datetime.fromtimestamp(moment, UTC).date()


def day_root(bucket: str, day: date) -> Address:
    """Where the entries of a day lie."""
    return ledger_root(bucket) / day.strftime("%Y/%m/%d/")


def read_at(store: Store, addresses: Iterable[Address]) -> Iterator[Entry]:
    """The entries at these addresses, in their order."""
    yield from _read(store, addresses)
