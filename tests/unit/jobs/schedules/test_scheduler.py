"""Schedules fire once each, take what is new, and lose nothing to deaths, downtime or overlap."""

import logging
import threading
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.addresses import Address, JobPaths
from jobs.bucket import Found
from jobs.errors import NotFound, StoreUnavailable, UserError
from jobs.queue import queued
from jobs.schedules.due import due
from jobs.schedules.files import RunFile, ScheduleFile, runs
from jobs.schedules.schedule import Plan, Schedule, run_id
from jobs.schedules.scheduler import CLAIM_S
from jobs.schedules.watermark import Watermark, advanced, news
from jobs.settings_doors import Rule
from jobs.submission import load_manifest

HOUR = 3600.0


@pytest.fixture
def taken(store, bucket):
    """What each job takes, by file name."""

    def of(jobs):
        manifests = [load_manifest(store, JobPaths.of(bucket, j.record.job_id)) for j in jobs]
        return [[key.rpartition("/")[2] for key in m.inputs.keys] for m in manifests]

    return of


@pytest.fixture
def outcomes(store, bucket):
    return lambda name="hourly": [run.outcome for run in runs(store, bucket, name)]


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
        "keys": "jobs.schedules.scheduler.news",
        "submit": "jobs.schedules.scheduler.submit",
        "submitted": "jobs.schedules.files.RunFile.save",
        "moved": "jobs.schedules.scheduler.Scheduler._move_on",
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
        patched.setattr("jobs.schedules.scheduler.submit", busy)
        assert one.look() == []
    clock.now += 60
    assert taken(one.look()) == [["1.png"]]


def test_a_time_that_comes_while_the_job_before_runs_is_skipped_and_recorded(
    scheduler, add, put, clock, outcomes, end, taken
):
    add()
    look = scheduler().look
    put("1.png")
    clock.now += HOUR
    [first] = look()
    put("2.png")
    clock.now += HOUR
    assert look() == []
    end(first.record.job_id)
    clock.now += HOUR
    assert taken(look()) == [["2.png"]]
    assert outcomes() == ["submitted", "skipped_overlap", "submitted"]


def test_with_queue_one_run_waits_for_the_job_before(
    scheduler, add, put, clock, outcomes, end, taken
):
    add(overlap="queue", catch_up="none")
    look = scheduler().look
    put("1.png")
    clock.now += HOUR
    [first] = look()
    put("2.png")
    for _ in range(3):
        clock.now += HOUR
        assert look() == []
    clock.now += 2000  # later than any grace, but it has waited
    end(first.record.job_id)
    assert taken(look()) == [["2.png"]]
    assert outcomes() == ["submitted", "submitted"]


def test_with_allow_jobs_run_beside_each_other(scheduler, add, put, clock):
    add(overlap="allow")
    look = scheduler().look
    made = []
    for n in range(3):
        put(f"{n}.png")
        clock.now += HOUR
        made += look()
    assert len(made) == 3


def test_after_downtime_the_latest_is_run_and_the_missed_are_told(
    scheduler, add, put, clock, caplog, taken, store, bucket
):
    file = add()
    put("1.png")
    clock.now += 48 * HOUR + 60
    caplog.set_level(logging.WARNING, "zeroshift")
    assert len(scheduler().look()) == 1
    assert "missed 47 runs" in caplog.text
    assert file.load().missed == 47
    [run] = runs(store, bucket, "hourly")
    assert run.nominal == clock.now - 60


def test_a_minutely_schedule_does_not_flood_after_two_days(scheduler, add, put, clock):
    file = add(cron="* * * * *")
    put("1.png")
    clock.now += 2 * 86400
    assert len(scheduler().look()) == 1
    assert file.load().missed == 2 * 1440 - 1
    clock.now += 60
    scheduler().look()
    assert file.load().cursor == clock.now


def test_catching_up_none_runs_what_is_on_time_alone(scheduler, add, put, clock, outcomes):
    add(catch_up="none")
    put("1.png")
    clock.now += 5 * HOUR + 1000
    assert scheduler().look() == []
    assert outcomes() == []
    clock.now += HOUR - 900
    assert len(scheduler().look()) == 1


def test_catching_up_all_runs_each_up_to_its_limit_with_what_was_there_then(
    scheduler, add, put, clock, outcomes, taken, monkeypatch
):
    file = add(catch_up="all", catch_up_limit=3, overlap="allow")
    put("old.png")
    clock.now += 6 * HOUR
    came = clock.now - 1.5 * HOUR

    def modified(found):
        return came if found.address.name == "new.png" else clock.now - 10 * HOUR

    monkeypatch.setattr("jobs.schedules.scheduler._came", modified)
    put("new.png")
    assert taken(scheduler().look()) == [["old.png"], ["new.png"]]
    assert outcomes() == ["submitted", "submitted", "nothing_new"]
    assert file.load().missed == 3


def test_catching_up_all_waits_for_each_job_rather_than_skip_it(
    scheduler, add, put, clock, outcomes, end, monkeypatch
):
    add(catch_up="all")
    monkeypatch.setattr("jobs.schedules.scheduler._came", lambda found: 0.0)
    look = scheduler().look
    put("1.png")
    clock.now += 3 * HOUR
    [first] = look()
    assert look() == []
    assert outcomes() == ["submitted"]  # the others wait
    end(first.record.job_id)
    look()
    assert outcomes() == ["submitted", "nothing_new", "nothing_new"]


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


@given(st.integers(1, 86400), st.integers(0, 10**6))
def test_jitter_is_the_same_for_everybody_and_within_its_bound(jitter_s, hours):
    plan = a_plan(jitter_s=jitter_s)
    nominal = hours * HOUR
    assert plan.starts_at(nominal) == a_plan(jitter_s=jitter_s).starts_at(nominal)
    assert 0 <= plan.starts_at(nominal) - nominal <= jitter_s


def a_plan(**changes):
    common = {"name": "n", "cron": "0 6 * * *", "zone": "America/New_York", "model": "m"}
    places = {"prefix": "s3://b/in/", "output": "s3://b/out/"}
    return Plan(**{**common, **places, **changes})


@pytest.mark.parametrize("jitter_s", [0, 600, 7200, 86400])
@pytest.mark.parametrize("every_s", [60.0, 7 * 3600.0])
def test_jitter_loses_no_day(jitter_s, every_s):
    """As somebody looks now and then, every day of two months is run once, in order."""
    start = 1_770_000_000.0
    schedule = Schedule(
        plan=a_plan(jitter_s=jitter_s, catch_up="all", catch_up_limit=100),
        created_at=start,
        cursor=start,
    )
    days, now, end = [], start, start + (60 if every_s > 60 else 5) * 86400
    while now < end:
        now += every_s
        found = due(schedule, now)
        if found.run is not None:
            days.append(found.run)
            schedule = schedule.model_copy(update={"cursor": found.run})
    steps = {round(b - a) for a, b in pairwise(days)}
    assert len(days) >= 3
    assert steps <= {82800, 86400, 90000}


def test_a_schedule_of_what_a_rule_takes_is_refused(
    scheduler, add, make_settings, model, clock, bucket, caplog, put
):
    file = add()
    put("1.png")
    settings = make_settings(rules=(Rule(prefix="cam/", model=model),))
    one = scheduler("one", settings)
    with pytest.raises(UserError, match=r"overlaps the prefix 'cam/' of rule"):
        one.refuse_rules(file.load())
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


def found(key, at, etag="e"):
    return Found(Address("b", key), 1, etag, datetime.fromtimestamp(at, UTC))


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 60), st.integers(0, 30)),
        max_size=20,
    )
)
def test_whatever_is_listed_late_within_the_window_is_taken_once(objects):
    """Objects (turn that they are listed from, time, delay) with equal times and late ones."""
    window = 100.0
    mark, taken = Watermark(), []
    for turn in range(7):
        listing = [
            found(f"k{n}", 1000 + turn_listed * 10 + at - late)
            for n, (turn_listed, at, late) in enumerate(objects)
            if turn_listed <= turn
        ]
        new = news(mark, listing, window + 100)
        mark = advanced(mark, new, window + 100)
        taken += [each.address.key for each in new]
    assert sorted(taken) == sorted(f"k{n}" for n in range(len(objects)))


def test_what_lies_before_the_window_is_forgotten():
    mark = advanced(Watermark(), [found("a", 10), found("b", 1000)], 100)
    assert list(mark.seen) == ["b"]
    assert news(mark, [found("a", 10), found("b", 1000), found("c", 950)], 100) == [found("c", 950)]
