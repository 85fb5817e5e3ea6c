"""A closed batch becomes one job, however often it is seen, and an open one none."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.addresses import Address
from jobs.errors import ManifestError, StoreUnavailable
from jobs.inbox import Inbox, job_name
from jobs.queue import queued
from jobs.settings_groups import Inbox as InboxSettings


@pytest.fixture
def inbox(store, make_settings, model):
    def make() -> Inbox:
        return Inbox(store, make_settings(inbox=InboxSettings(prefix="inbox/", model=model)))

    return make


@pytest.fixture
def close_batch(store, bucket, put_pictures):
    def close(folder: str) -> None:
        put_pictures(1, prefix=f"inbox/{folder}/")
        store.write(Address(bucket, f"inbox/{folder}/_SUCCESS"), b"")

    return close


def test_an_open_batch_is_left_alone(inbox, put_pictures):
    put_pictures(1, prefix="inbox/line-4/")
    assert list(inbox().new_jobs()) == []


def test_a_closed_batch_becomes_one_job(store, bucket, inbox, close_batch):
    close_batch("line-4")
    watcher = inbox()
    [submitted] = watcher.new_jobs()
    assert submitted.created
    assert submitted.record.job_id.startswith("line-4-")
    assert submitted.record.output == f"s3://{bucket}/results/line-4/"
    assert list(watcher.new_jobs()) == []
    assert queued(store, bucket) == [submitted.record.job_id]


def test_another_controller_that_sees_the_batch_finds_the_same_job(inbox, close_batch):
    close_batch("line-4")
    [first], [second] = list(inbox().new_jobs()), list(inbox().new_jobs())
    assert (first.created, second.created) == (True, False)
    assert second.record == first.record


def test_each_closed_batch_is_a_job_of_its_own(inbox, close_batch):
    close_batch("a")
    close_batch("b")
    assert len({each.record.job_id for each in inbox().new_jobs()}) == 2


def test_without_a_prefix_nothing_is_watched(store, settings, close_batch):
    close_batch("a")
    assert list(Inbox(store, settings).new_jobs()) == []


def test_a_batch_without_pictures_is_refused_once_and_holds_up_no_other(
    store, bucket, inbox, close_batch
):
    store.write(Address(bucket, "inbox/a-empty/_SUCCESS"), b"")
    close_batch("b")
    watcher = inbox()
    with pytest.raises(ManifestError, match="nothing is there"):
        list(watcher.new_jobs())
    assert [each.record.job_id[:2] for each in watcher.new_jobs()] == ["b-"]


def test_a_batch_is_tried_again_when_the_store_did_not_answer(
    store, inbox, close_batch, monkeypatch
):
    close_batch("a")
    watcher = inbox()

    def busy(address, body):
        raise StoreUnavailable("busy")

    with monkeypatch.context() as patched:
        patched.setattr(store, "create", busy)
        with pytest.raises(StoreUnavailable):
            list(watcher.new_jobs())
    assert [each.created for each in watcher.new_jobs()] == [True]


@pytest.mark.parametrize("folder", ["Line 4", "ä ö", "2026-10-01T06:00", "_x_", "a" * 200, "a%20b"])
def test_odd_folder_names_become_jobs_with_results_under_their_own_name(
    bucket, inbox, close_batch, folder
):
    close_batch(folder)
    [submitted] = inbox().new_jobs()
    assert submitted.record.output == f"s3://{bucket}/results/{folder}/"


@given(st.text())
def test_any_folder_name_makes_a_legal_job_name(folder):
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", job_name(folder))


def test_a_job_is_named_after_its_folder():
    assert [job_name(each) for each in ("Line 4", "--", "2026/10")] == [
        "line-4",
        "batch",
        "2026-10",
    ]
