"""Large objects go in and out in pieces, and come out as they went in; on every store."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.addresses import Address
from jobs.errors import Conflict, NotFound
from jobs.store import streams
from jobs.store.memory import MemoryStore
from jobs.store.streams import PIECE, LineTooLong, PartWriter, lines_of, pieces

pytestmark = pytest.mark.parametrize(
    "server", ["memory", "moto", pytest.param("ceph", marks=pytest.mark.ceph)], indirect=True
)


@pytest.fixture
def address(bucket):
    return Address(bucket, "large")


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 5])
def test_an_object_comes_back_as_it_was_written(store, address, size):
    body = (b"0123456789abcdef\n" * (size // 17 + 1))[:size]
    with PartWriter(store, address, "application/jsonl") as writer:
        for first in range(0, size, 1_000_003):
            writer.write(body[first : first + 1_000_003])
    assert writer.size == size
    assert store.read(address) == body
    assert b"".join(pieces(store, address)) == body


def test_an_object_that_changes_under_its_reader_is_a_conflict(store, address):
    store.write(address, b"x" * (PIECE + 1))
    reader = pieces(store, address)
    next(reader)
    store.write(address, b"y" * (PIECE + 1))
    with pytest.raises(Conflict):
        next(reader)


def test_an_object_that_is_not_there_is_not_found(store, address):
    with pytest.raises(NotFound):
        next(pieces(store, address))


def test_nothing_is_there_before_the_writer_is_closed(store, address):
    writer = PartWriter(store, address, "k")
    writer.write(b"x" * (PIECE + 1))
    assert not store.exists(address)
    writer.drop()
    assert not store.exists(address)


def test_files_of_a_prefix_are_told_from_its_folders(store, bucket):
    for key in ("a/1", "a/b/2", "a/3", "c"):
        store.write(Address(bucket, key), b"")
    assert [each.key for each in store.files(Address(bucket, "a/"))] == ["a/1", "a/3"]


def test_a_line_that_is_too_long_is_refused(store, address):
    store.write(address, b"short\n" + b"x" * 11 + b"\n")
    with pytest.raises(LineTooLong):
        list(lines_of(store, address, 10))


class TestLines:
    @pytest.fixture(autouse=True)
    def _small_pieces(self, monkeypatch):
        monkeypatch.setattr(streams, "PIECE", 7)

    def test_lines_are_those_of_the_whole(self, server):
        held = MemoryStore()
        held.make_bucket("b")
        where = Address("b", "k")

        @settings(deadline=None)
        @given(st.lists(st.binary(max_size=20).filter(lambda text: b"\n" not in text)))
        def check(lines):
            held.write(where, b"\n".join(lines))
            found = list(lines_of(held, where, 100))
            assert found == (lines[:-1] if lines and not lines[-1] else lines)

        check()
