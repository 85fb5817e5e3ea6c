"""Schedules fire once each, take what is new, and lose nothing to deaths, downtime or overlap."""

import threading

import pytest

from jobs.addresses import JobPaths
from jobs.errors import NotFound, StoreUnavailable, UserError
from jobs.queue import queued
from jobs.schedules.files import RunFile, ScheduleFile
from jobs.schedules.requests import refuse_rules
from jobs.schedules.running import CLAIM_S
from jobs.schedules.schedule import run_id
from jobs.schedules.watermark import Watermark
from jobs.settings.doors import Rule
from jobs.submit.submission import load_manifest

HOUR = 3600.0


def test_nothing_fires_before_its_time(scheduler, add, put, clock):
    add()
    put("1.png")
    clock.now += HOUR - 1
    assert scheduler().look() == []


def test_each_run_takes_what_is_new_since_the_last(scheduler, add, put, clock, end, taken):
    add()
    look = scheduler().look
    put("1.png", "2.png")
    clock.now += HOUR
    first = look()
    assert taken(first) == [["1.png", "2.png"]]
    assert look() == []
    end(first[0].record.job_id)
    put("3.png", "1.png")  # the same bytes again are not new
    clock.now += HOUR
    assert taken(look()) == [["3.png"]]


def test_a_run_without_anything_new_is_recorded_and_makes_no_job(
    scheduler, add, clock, outcomes, store, bucket
):
    add()
    clock.now += HOUR
    assert scheduler().look() == []
    assert outcomes() == ["nothing_new"]
    assert queued(store, bucket) == []


def test_many_controllers_make_one_job_of_one_time(scheduler, add, put, clock, store, bucket):
    add()
    put("1.png")
    clock.now += HOUR
    made: list = []
    start = threading.Barrier(4)

    def look(owner):
        start.wait()
        made.extend(scheduler(owner).look())

    threads = [threading.Thread(target=look, args=(f"c{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert len(queued(store, bucket)) == 1


STEPS = ["keys", "submit", "submitted", "moved"]


@pytest.mark.parametrize("step", STEPS)
def test_a_run_whose_holder_died_is_finished_by_another(
    scheduler, add, put, clock, store, bucket, monkeypatch, step, taken
):
    add()
    put("1.png")
    clock.now += HOUR
    name = {
        "keys": "jobs.schedules.running.news",
        "submit": "jobs.schedules.running.submit",
        "submitted": "jobs.schedules.files.RunFile.save",
        "moved": "jobs.schedules.running.Runner._move_on",
    }[step]
    saves = []

    def die(*arguments):
        saves.append(arguments)
        if step == "submitted" and len(saves) < 3:
            return save(*arguments)
        raise KeyboardInterrupt

    save = RunFile.save
    with monkeypatch.context() as patched:
        patched.setattr(name, die)
        with pytest.raises(KeyboardInterrupt):
            scheduler("dead").look()
    watermark = ScheduleFile(store, bucket, "hourly").load().watermark
    assert watermark == Watermark()  # not before the schedule has moved on
    put("2.png")  # comes later: it is the next run's, or this one's when nothing was decided
    if step != "moved":
        assert scheduler("other").look() == []  # the claim holds still
    clock.now += CLAIM_S + 1
    scheduler("other").look()
    [job] = queued(store, bucket)
    schedule = ScheduleFile(store, bucket, "hourly").load()
    assert (schedule.last_job, schedule.current) == (job, "")
    manifest = load_manifest(store, JobPaths.of(bucket, job))
    assert len(manifest.inputs.keys) == (2 if step == "keys" else 1)


def test_a_store_that_did_not_answer_is_asked_again(scheduler, add, put, clock, monkeypatch, taken):
    add()
    put("1.png")
    clock.now += HOUR
    one = scheduler()

    def busy(*arguments):
        raise StoreUnavailable("busy")

    with monkeypatch.context() as patched:
        patched.setattr("jobs.schedules.running.submit", busy)
        assert one.look() == []
    clock.now += 60
    assert taken(one.look()) == [["1.png"]]


def test_a_paused_schedule_makes_up_for_nothing_when_it_is_resumed(scheduler, add, put, clock):
    file = add()
    put("1.png")
    file.change(lambda old: old.model_copy(update={"paused": True}))
    clock.now += 5 * HOUR
    assert scheduler().look() == []
    changes = {"paused": False, "cursor": clock.now}
    file.change(lambda old: old.model_copy(update=changes))
    assert scheduler().look() == []
    clock.now += HOUR
    assert len(scheduler().look()) == 1
    assert file.load().missed == 0


def test_a_run_by_hand_is_beside_the_schedule_and_takes_what_is_new(
    scheduler, add, put, clock, taken, store, bucket
):
    add(jitter_s=3600, overlap="allow")
    put("1.png")
    clock.now += HOUR + 1
    one = scheduler()
    run = one.run_now("hourly")
    assert run.outcome == "submitted"
    put("2.png")
    clock.now += HOUR - 2  # the jittered time of the first hour has come by now
    assert taken(one.look()) == [["2.png"]]


def test_a_schedule_of_what_a_rule_takes_is_refused(
    scheduler, add, make_settings, model, clock, bucket, caplog, put
):
    file = add()
    put("1.png")
    settings = make_settings(rules=(Rule(prefix="cam/", model=model),))
    one = scheduler("one", settings)
    with pytest.raises(UserError, match=r"overlaps the prefix 'cam/' of rule"):
        refuse_rules(one.settings, file.load())
    clock.now += HOUR
    assert one.look() == []
    assert "overlaps the prefix" in caplog.text


def test_a_broken_request_is_recorded_as_refused_and_its_pictures_stay_new(
    scheduler, add, put, clock, outcomes, taken
):
    file = add(model="/nowhere")
    put("1.png")
    clock.now += HOUR
    assert scheduler().look() == []
    assert outcomes() == ["refused"]
    assert file.load().watermark == Watermark()


def test_what_is_idle_is_not_read_again(scheduler, add, store, clock, monkeypatch):
    add()
    one = scheduler()
    one.look()
    reads = []
    monkeypatch.setattr(store, "_get", lambda *arguments, **more: reads.append(arguments))
    one.look()
    assert reads == []


def test_an_unknown_name_is_one_line_with_the_nearest(store, bucket, add):
    add()
    with pytest.raises(
        NotFound, match="no schedule 'hourli'; did you mean 'hourly'\\? known: hourly"
    ):
        ScheduleFile(store, bucket, "hourli").load()


def test_a_name_is_taken_once(add):
    add()
    with pytest.raises(UserError, match="there is a schedule 'hourly' already"):
        add(task="ocr")


def test_a_run_is_called_by_its_nominal_time_in_utc():
    assert run_id(1793511000) == "20261101T053000Z"
