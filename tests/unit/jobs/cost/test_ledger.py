"""The ledger is written once and read as a stream, day by day."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import islice

import pytest

from jobs.addresses import Address
from jobs.cost.entry import Entry, NodeTimes
from jobs.cost.ledger import entries, entries_of, write
from jobs.errors import PermanentError
from jobs.record import OfferSnapshot
from jobs.store.memory import MemoryStore

OFFER = OfferSnapshot(
    name="local",
    usd_per_hour=Decimal("3.60"),
    billing_granularity_s=1,
    minimum_s=0,
    catalogue_date="today",
)
NOON = datetime(2026, 11, 10, 12, tzinfo=UTC).timestamp()
DAY_S = 86400.0


def entry(job_id: str | None = "j", until: float = NOON, epoch: int = 1, node: str = "n") -> Entry:
    times = NodeTimes(node_id=node, launched_at=until - 100, gone_at=until)
    return Entry(
        job_id=job_id, epoch=epoch, node=times, since=until - 100, until=until, offer=OFFER
    )


@pytest.fixture
def books() -> MemoryStore:
    store = MemoryStore()
    store.make_bucket("b")
    return store


def test_entries_come_back_by_the_day_of_their_end(books):
    wanted = [entry("a", NOON), entry("b", NOON + DAY_S), entry(None, NOON + DAY_S)]
    write(books, "b", [*wanted, entry("late", NOON + 5 * DAY_S), entry("early", NOON - DAY_S)])
    found = list(entries(books, "b", date(2026, 11, 10), date(2026, 11, 11)))
    assert found == wanted
    assert len(list(entries(books, "b"))) == 5


def test_an_entry_lies_where_its_name_says(books):
    write(books, "b", [entry("a", node="c-n1", epoch=2)])
    key = "zeroshift/ledger/2026/11/10/a-c-n1-2.json"
    assert json.loads(books.read(Address("b", key)))["job_id"] == "a"


def test_a_tenancy_is_written_once_whoever_writes_it_again(books):
    write(books, "b", [entry()])
    write(books, "b", [entry(), entry().model_copy(update={"images": 7})])
    assert list(entries(books, "b")) == [entry()]


def test_a_tenancy_is_not_written_again_after_midnight(books):
    midnight = NOON + DAY_S / 2
    write(books, "b", [entry(until=midnight - 5)])
    write(books, "b", [entry(until=midnight + 5)])
    write(books, "b", [entry(until=midnight - 5)])
    assert [each.until for each in entries(books, "b")] == [midnight - 5]


def test_the_entries_of_one_job_are_found_although_another_is_named_almost_alike(books):
    mine = [entry("j", NOON, 1), entry("j", NOON + DAY_S, 2)]
    write(books, "b", [*mine, entry("j-2", NOON), entry(None, NOON)])
    assert list(entries_of(books, "b", "j", NOON - DAY_S, NOON + DAY_S)) == mine
    assert list(entries_of(books, "b", None, NOON, NOON)) == [entry(None)]


def test_entries_are_read_as_they_are_wanted(books):
    write(books, "b", [entry(f"j{number:04d}") for number in range(300)])
    read = []
    plain = books.read
    books.read = lambda address, etag=None: read.append(address) or plain(address, etag)
    assert [each.job_id for each in islice(entries(books, "b"), 2)] == ["j0000", "j0001"]
    assert len(read) < 300


def test_an_object_that_is_no_entry_is_named(books):
    books.write(Address("b", "zeroshift/ledger/2026/11/10/x.json"), b"{}")
    with pytest.raises(PermanentError, match=r"2026/11/10/x\.json is no entry of the ledger"):
        list(entries(books, "b"))


def test_a_folder_that_is_no_day_is_passed_over(books):
    books.write(Address("b", "zeroshift/ledger/2026/11/notes/x.json"), b"{}")
    assert list(entries(books, "b")) == []
