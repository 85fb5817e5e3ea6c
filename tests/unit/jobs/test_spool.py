"""Paid answers outlive a store that does not take them: on disk, until it does."""

import errno
import os

import pytest

from jobs.addresses import JobPaths
from jobs.commit import make_commit
from jobs.errors import CredentialsExpired, NotFound, RowsSpooled, StoreUnavailable
from jobs.order import Marker
from jobs.rows import Row
from jobs.spool import WAITS_S, Spool


class Refusing:
    """A store that takes no rows until it has refused them `times`."""

    def __init__(self, store, error: Exception, times: int = 1000) -> None:
        self._store, self._error, self.times = store, error, times

    def __getattr__(self, name):
        return getattr(self._store, name)

    def write(self, *arguments):
        if self.times:
            self.times -= 1
            raise self._error
        self._store.write(*arguments)


@pytest.fixture
def paths(bucket) -> JobPaths:
    return JobPaths.of(bucket, "j")


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def spool(store, tmp_path, waits):
    def make(fresh=lambda: store) -> Spool:
        return Spool(tmp_path / "spool", fresh, waits.append)

    return make


@pytest.fixture
def work(paths) -> tuple[bytes, Marker]:
    rows = [Row(key="s3://b/1", version="e", status="ok", output="paid for")]
    return make_commit(paths, rows, 3, 1, 1, 1.0)


def committed(store, paths, marker) -> bytes:
    assert Marker.model_validate_json(store.read(paths.marker_of(marker.shard))) == marker
    return store.read(paths.rows / marker.file)


def test_what_the_store_takes_never_touches_the_disk(spool, store, paths, work, tmp_path):
    assert spool().commit(store, paths, *work) == work[1]
    assert committed(store, paths, work[1]) == work[0]
    assert not (tmp_path / "spool").exists()


@pytest.mark.parametrize(
    "error",
    [StoreUnavailable("full"), CredentialsExpired("old"), NotFound("no such bucket")],
    ids=lambda error: type(error).__name__,
)
def test_rows_that_are_refused_are_written_with_fresh_credentials(
    spool, store, paths, work, waits, error
):
    asked = []

    def fresh():
        asked.append(len(waits))
        return Refusing(store, error, times=1) if len(asked) < 3 else store

    assert spool(fresh).commit(Refusing(store, error), paths, *work) == work[1]
    assert asked == [1, 2, 3]
    assert committed(store, paths, work[1]) == work[0]
    assert spool().waiting() == []


def test_rows_that_no_try_writes_are_kept_and_reported(spool, store, paths, work, waits):
    broken = Refusing(store, StoreUnavailable("the store answered SlowDown"))
    with pytest.raises(RowsSpooled, match=r"shard 3: 1 row kept in .*00003-.*SlowDown"):
        spool(lambda: broken).commit(broken, paths, *work)
    assert waits == list(WAITS_S)
    assert spool().waiting() == [paths]


@pytest.fixture
def spooled(spool, store, paths, work) -> tuple[bytes, Marker]:
    broken = Refusing(store, StoreUnavailable("down"))
    with pytest.raises(RowsSpooled):
        spool(lambda: broken).commit(broken, paths, *work)
    return work


def test_the_next_attempt_at_the_shard_finds_its_rows_and_asks_nothing(
    spool, store, paths, spooled
):
    assert spool().settled(store, paths, 4) is None
    assert spool().settled(store, paths, 3) == spooled[1]
    assert committed(store, paths, spooled[1]) == spooled[0]
    assert spool().settled(store, paths, 3) is None


def test_everything_is_written_when_the_store_is_back(spool, store, paths, spooled):
    assert spool().settle(store, paths) == [spooled[1]]
    assert spool().waiting() == []


def test_rows_that_a_crash_cut_short_are_not_taken_for_rows(spool, store, paths, spooled, tmp_path):
    [kept] = tmp_path.rglob("*.jsonl")
    kept.write_bytes(spooled[0][:-5])
    assert spool().settle(store, paths) == []
    assert not store.exists(paths.marker_of(3))


def test_rows_of_a_shard_that_was_worked_again_meanwhile_do_not_count(spool, store, paths, spooled):
    later = spooled[1].model_copy(update={"epoch": 2})
    spool().commit(store, paths, spooled[0], later)
    assert spool().settled(store, paths, 3) == later


def test_a_disk_that_is_full_too_is_said(spool, store, paths, work, tmp_path):
    (tmp_path / "spool").write_bytes(b"in the way")
    with pytest.raises(RowsSpooled, match=r"rows? lost: the store refused them.*and so did"):
        spool().commit(Refusing(store, StoreUnavailable("down")), paths, *work)


def test_a_disk_without_space_is_named_and_keeps_no_part_of_the_rows(
    spool, store, paths, work, tmp_path, monkeypatch
):
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    words = f"so did the disk: no space left on {tmp_path / 'spool'}"
    with pytest.raises(RowsSpooled, match=words):
        spool().commit(Refusing(store, StoreUnavailable("down")), paths, *work)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
