"""A folder becomes a job when it is closed, once, whatever is seen how often and by whom."""

import re

import pytest

from jobs.addresses import Address
from jobs.errors import StoreUnavailable
from jobs.events.batches import Folder, judge
from jobs.events.doors import Doors
from jobs.events.memory import MemoryFile
from jobs.events.store_clock import StoreClock
from jobs.queue import queued
from jobs.settings.groups import Inbox


def test_an_open_batch_is_left_alone(make_doors, put):
    put("line-4/1.png")
    assert make_doors().look() == []


def test_a_closed_batch_becomes_one_job(store, bucket, make_doors, put, close, inputs):
    put("line-4/1.png", "line-4/2.png")
    close("line-4")
    doors = make_doors()
    [submitted] = doors.look()
    assert submitted.record.job_id.startswith("line-4-")
    assert submitted.record.output == f"s3://{bucket}/results/inbox/line-4/"
    assert inputs(submitted) == ["1.png", "2.png"]
    assert doors.look() == []
    assert queued(store, bucket) == [submitted.record.job_id]


def test_the_inbox_setting_is_short_for_a_rule(store, bucket, make_settings, model, put, close):
    put("line-4/1.png")
    close("line-4")
    settings = make_settings(inbox=Inbox(prefix="inbox/", model=model))
    [submitted] = Doors(store, settings).look()
    assert submitted.record.output == f"s3://{bucket}/results/line-4/"


def test_without_rules_nothing_is_watched(store, settings, put, close):
    put("a/1.png")
    close("a")
    assert Doors(store, settings).look() == []


def test_another_process_that_sees_the_batch_makes_no_other_job(
    store, bucket, make_doors, put, close
):
    put("a/1.png")
    close("a")
    assert [len(make_doors().look()) for _ in range(3)] == [1, 0, 0]
    assert len(queued(store, bucket)) == 1


def test_what_was_seen_costs_one_listing_and_no_look_at_any_folder(
    store, make_doors, put, close, monkeypatch
):
    for name in "abc":
        put(f"{name}/1.png")
        close(name)
    make_doors().look()
    reads = []
    read = store._get
    monkeypatch.setattr(
        store, "_get", lambda at, **more: (reads.append(at.key), read(at, **more))[1]
    )
    assert make_doors().look() == []
    assert reads == ["zeroshift/inbox/settled.json"]


def test_late_files_become_a_job_of_their_own_and_are_not_lost(
    bucket, make_doors, put, close, inputs, clock
):
    put("line-4/1.png")
    close("line-4")
    doors = make_doors(quiet_s=60)
    [first] = doors.look()
    put("line-4/2.png", "line-4/3.png")
    assert doors.look() == []  # more may be on its way
    clock.ahead_s = 61
    [second] = doors.look()
    assert inputs(second) == ["2.png", "3.png"]
    assert second.record.job_id != first.record.job_id
    assert re.fullmatch(rf"s3://{bucket}/results/inbox/line-4-[0-9a-f]{{6}}/", second.record.output)
    assert doors.look() == []


def test_closing_again_takes_late_files_at_once(make_doors, put, close, inputs):
    put("a/1.png")
    close("a")
    doors = make_doors()
    doors.look()
    put("a/2.png")
    close("a", body=b"again")
    [second] = doors.look()
    assert inputs(second) == ["2.png"]


def test_closing_again_with_nothing_new_makes_no_job(make_doors, put, close):
    put("a/1.png")
    close("a")
    doors = make_doors()
    doors.look()
    close("a", body=b"again")
    assert doors.look() == []


def test_the_same_bytes_written_again_are_not_new(make_doors, put, close, clock):
    put("a/1.png")
    close("a")
    doors = make_doors()
    doors.look()
    put("a/1.png")  # as a change of its metadata is
    clock.ahead_s = 1000
    assert doors.look() == []


def test_other_bytes_under_the_same_key_are(make_doors, put, close, clock, inputs):
    put("a/1.png", "a/2.png")
    close("a")
    doors = make_doors()
    doors.look()
    put("a/1.png", body=b"other")
    clock.ahead_s = 1000
    assert [inputs(each) for each in doors.look()] == [["1.png"]]
    put("a/1.png", body=None)  # what it was before, which has been asked about
    assert doors.look() == []


def test_a_quiet_batch_is_closed_by_the_stores_clock(make_doors, put, clock):
    put("a/1.png")
    doors = make_doors(closed_by="quiet", quiet_s=30)
    clock.ahead_s = 25
    assert doors.look() == []
    clock.ahead_s = 31
    assert len(doors.look()) == 1


def test_what_keeps_coming_is_taken_after_max_wait(make_rule, clock, store, bucket, put):
    rule = make_rule(closed_by="quiet", quiet_s=60, max_wait_s=100)
    put("a/1.png")
    [found] = store.list(Address(bucket, "inbox/a/"))
    folder = Folder(Address(bucket, "inbox/a/"), rule, {"1.png": found})
    memory = MemoryFile(store, folder.address).load()[0]
    came = found.modified.timestamp()
    assert judge(folder, memory, came + 50).due_at == came + 60
    patient = Folder(
        folder.address, make_rule(closed_by="quiet", quiet_s=500, max_wait_s=100), folder.pictures
    )
    assert judge(patient, memory, came + 99).due_at == came + 100
    assert judge(patient, memory, came + 100).why


def test_a_quiet_batch_is_closed_at_once_by_success(make_doors, put, close):
    put("a/1.png")
    close("a")
    assert len(make_doors(closed_by="quiet").look()) == 1


def test_the_store_says_what_time_it_is(store, bucket):
    here = iter([0.0, 30.0, 100.0])
    clock = StoreClock(store, bucket, lambda: next(here))
    first = clock()
    assert clock() == pytest.approx(first + 30)
    assert clock() == pytest.approx(first, abs=20)  # asked again, not counted on


def test_a_batch_without_pictures_is_no_job_and_holds_up_no_other(make_doors, put, close, caplog):
    close("a-empty")
    put("b/1.png")
    close("b")
    doors = make_doors()
    assert [each.record.job_id[:2] for each in doors.look()] == ["b-"]
    assert "a-empty/: closed without pictures" in caplog.text
    caplog.clear()
    assert doors.look() == []
    assert caplog.text == ""


def test_a_batch_is_tried_again_when_the_store_did_not_answer(
    store, make_doors, put, close, monkeypatch
):
    put("a/1.png")
    close("a")
    doors = make_doors()

    def busy(*arguments):
        raise StoreUnavailable("busy")

    with monkeypatch.context() as patched:
        patched.setattr("jobs.events.folders.submit", busy)
        assert doors.look() == []
    assert [each.created for each in doors.look()] == [True]


def test_a_batch_that_was_noted_by_one_that_died_is_submitted_by_the_next(
    store, bucket, make_doors, put, close, monkeypatch
):
    put("a/1.png")
    close("a")

    def die(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("jobs.events.folders.submit", die)
        with pytest.raises(KeyboardInterrupt):
            make_doors().look()
    assert queued(store, bucket) == []
    assert len(make_doors().look()) == 1


def test_a_batch_that_was_refused_is_tried_again_under_other_settings(make_doors, put, close):
    put("a/1.png")
    close("a")
    wrong = "/nowhere"
    assert make_doors(model=wrong).look() == []
    assert make_doors(model=wrong).look() == []
    assert len(make_doors().look()) == 1


def test_two_that_look_at_the_same_moment_never_take_a_picture_twice(
    store, bucket, make_doors, put, close, inputs, monkeypatch
):
    """The second has listed more than the first, and read the memory before the first wrote it."""
    put("a/1.png")
    close("a")
    jobs, save = [], MemoryFile.save

    def late(file, memory, etag):
        monkeypatch.setattr(MemoryFile, "save", save)
        jobs.extend(make_doors().look())  # somebody else is faster
        return save(file, memory, etag)

    slow = make_doors()
    monkeypatch.setattr(MemoryFile, "save", late)
    jobs += slow.look()
    assert [inputs(each) for each in jobs] == [["1.png"]]


def test_results_that_lie_in_an_inbox_start_no_job_and_raise_an_alarm(
    make_doors, put, close, caplog
):
    put("a/part-00000.jsonl", "a/results.parquet")
    close("a", "receipt.json", b'{"job_id": "x-1"}')
    close("a", body=b'{"job_id": "x-1"}')
    assert make_doors().look() == []
    assert "alarm: s3://" in caplog.text
    assert "results of a job lie here" in caplog.text


def test_a_folder_that_makes_too_many_jobs_is_held_with_an_alarm(
    make_doors, put, clock, caplog, inputs
):
    doors = make_doors(closed_by="quiet", quiet_s=10, max_batches_per_day=3)
    for turn in range(6):
        put(f"a/{turn}.png")
        clock.ahead_s += 11
        doors.look()
    assert caplog.text.count("alarm") >= 1
    assert "fed by its own results" in caplog.text
    clock.ahead_s += 86400
    [held] = doors.look()
    assert inputs(held) == ["3.png", "4.png", "5.png"]  # late, not lost


@pytest.mark.parametrize(
    "folder", ["Line 4", "ä ö", "2026-10-01T06:00", "_x_", "a" * 200, "a%20b", "{x}", "100%25"]
)
def test_odd_folder_names_become_jobs_with_results_under_their_own_name(
    bucket, make_doors, put, close, folder
):
    put(f"{folder}/a b+c é.png", f"{folder}/100%25.png")
    close(folder)
    [submitted] = make_doors().look()
    assert submitted.record.output == f"s3://{bucket}/results/inbox/{folder}/"
