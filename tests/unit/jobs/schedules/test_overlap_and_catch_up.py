"""What becomes of times that come while a job runs, or that passed while nobody looked."""

import logging

import pytest

from jobs.schedules import running
from jobs.schedules.files import runs

HOUR = 3600.0


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

    monkeypatch.setattr("jobs.schedules.running._came", modified)
    put("new.png")
    assert taken(scheduler().look()) == [["old.png"], ["new.png"]]
    assert outcomes() == ["submitted", "submitted", "nothing_new"]
    assert file.load().missed == 3


def test_catching_up_all_waits_for_each_job_rather_than_skip_it(
    scheduler, add, put, clock, outcomes, end, monkeypatch
):
    add(catch_up="all")
    monkeypatch.setattr("jobs.schedules.running._came", lambda found: 0.0)
    look = scheduler().look
    put("1.png")
    clock.now += 3 * HOUR
    [first] = look()
    assert look() == []
    assert outcomes() == ["submitted"]  # the others wait
    end(first.record.job_id)
    look()
    assert outcomes() == ["submitted", "nothing_new", "nothing_new"]


@pytest.mark.parametrize("catch_up", ["none", "latest", "all"])
def test_a_schedule_that_is_resumed_after_months_begins_anew(
    scheduler, add, put, clock, taken, catch_up
):
    file = add(catch_up=catch_up)
    put("1.png")
    file.pause()
    clock.now += 100 * 24 * HOUR
    one = scheduler()
    assert one.look() == []
    file.resume(clock())
    assert one.look() == []
    clock.now += HOUR
    assert taken(one.look()) == [["1.png"]]
    assert file.load().missed == 0


def test_a_clock_that_goes_back_fires_nothing_twice(scheduler, add, put, clock, taken):
    add(overlap="allow")
    put("1.png")
    clock.now += HOUR
    one = scheduler()
    assert taken(one.look()) == [["1.png"]]
    put("2.png")
    clock.now -= 3 * HOUR
    assert one.look() == scheduler("two").look() == []
    clock.now += 2.5 * HOUR
    assert one.look() == []
    clock.now += 1.5 * HOUR
    assert taken(one.look()) == [["2.png"]]


def test_a_schedule_that_is_removed_while_a_run_is_made_ends_quietly(
    scheduler, add, put, clock, store, bucket, monkeypatch, taken
):
    file = add()
    put("1.png")
    clock.now += HOUR
    real = running.submit

    def removed(*arguments):
        monkeypatch.setattr(running, "submit", real)
        file.remove()
        return real(*arguments)

    monkeypatch.setattr(running, "submit", removed)
    one = scheduler()
    assert one.look() == []
    clock.now += HOUR
    assert one.look() == []
    add()  # a new one of the same name takes everything again
    clock.now += HOUR
    assert taken(scheduler("two").look()) == [["1.png"]]
