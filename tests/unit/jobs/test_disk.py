"""A full disk of the controller's sets a job back with one line, and loses nothing."""

import errno
import json
import tempfile

import pytest

from jobs.addresses import Address
from jobs.closing.results import rows_of
from jobs.cost.ledger import entries
from jobs.disk import disk_fault
from jobs.queue import queued
from jobs.states import State


@pytest.fixture(autouse=True)
def no_waits(monkeypatch):
    monkeypatch.setattr("jobs.control.way_back.wait_s", lambda before: 0.0)


@pytest.fixture
def full(monkeypatch):
    """Lets the next so many tables find no room."""

    def times(count):
        folder, left = tempfile.TemporaryDirectory, [None] * count

        def make(*arguments, **more):
            if left:
                left.pop()
                raise OSError(errno.ENOSPC, "No space left on device")
            return folder(*arguments, **more)

        monkeypatch.setattr("jobs.closing.close.tempfile.TemporaryDirectory", make)

    return times


def test_a_table_that_finds_no_room_sets_the_job_back_and_is_written_later(
    make_settings, store, controller, submitted, put_pictures, load, full
):
    full(1)
    put_pictures(2)
    job = submitted()
    controller(make_settings(max_setbacks=1)).once()
    [setback] = load(job).setbacks
    assert setback.startswith("no space is left on this machine, under ")
    assert "set work_dir" in setback
    assert load(job).state is State.COMPLETED
    keys = [json.loads(line)["key"] for line in rows_of(store, Address.parse(job.output))]
    assert len(keys) == len(set(keys)) == 2


def test_a_disk_that_stays_full_ends_the_job_with_that_reason_and_it_is_billed(
    make_settings, store, bucket, controller, submitted, put_pictures, load, full
):
    full(99)
    put_pictures(2)
    job = submitted()
    controller(make_settings(max_setbacks=0)).once()
    ended = load(job)
    assert ended.state is State.FAILED
    assert ended.reason.count("no space is left") == 1
    assert queued(store, bucket) == []
    assert not store.exists(Address.parse(job.output) / "_SUCCESS")
    assert [each.kind for each in entries(store, bucket)].count("node") == 1


def test_a_cluster_that_finds_no_room_for_its_folder_is_a_setback(
    make_settings, controller, submitted, put_pictures, load, workshop
):
    make = workshop.make

    def made(*arguments):
        cluster = make(*arguments)
        if len(workshop.made) == 1:
            cluster.up = refuse
        return cluster

    def refuse():
        raise OSError(errno.ENOSPC, "No space left on device")

    workshop.make = made
    put_pictures(2)
    job = submitted()
    controller(make_settings(max_setbacks=1)).once()
    assert load(job).state is State.COMPLETED
    assert "no space is left" in load(job).setbacks[0]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_told_with_what_to_do(tmp_path, number):
    line = disk_fault(OSError(number, "x"), tmp_path)
    assert str(tmp_path) in line
    assert tempfile.gettempdir() in line
    assert "\n" not in line


def test_another_fault_of_the_disk_is_told_with_its_file(tmp_path):
    with pytest.raises(OSError, match="No such file") as caught:
        (tmp_path / "none" / "x").read_bytes()
    line = disk_fault(caught.value, tmp_path)
    assert line == f"this machine: No such file or directory ({tmp_path}/none/x)"
