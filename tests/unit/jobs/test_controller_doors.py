"""A controller takes in what arrives and what is due, also while it works another job."""

import threading
import time

from jobs.addresses import Address, JobPaths
from jobs.queue import all_jobs, queued
from jobs.record import RecordFile
from jobs.schedules.files import ScheduleFile, runs
from jobs.schedules.schedule import Plan, Schedule
from jobs.settings.doors import Rule
from jobs.states import State


def test_what_is_due_of_a_schedule_is_run_once(store, bucket, controller, model, put_pictures):
    put_pictures(2, prefix="cam/")
    places = {"prefix": f"s3://{bucket}/cam/", "output": f"s3://{bucket}/results/cam/"}
    plan = Plan(name="minutely", cron="* * * * *", model=model, **places)
    then = time.time() - 180
    file = ScheduleFile(store, bucket, "minutely")
    file.create(Schedule(plan=plan, created_at=then, cursor=then))
    controller().once()
    [run] = [each for each in runs(store, bucket, "minutely") if each.job_id]
    record = RecordFile(store, JobPaths.of(bucket, run.job_id)).load()
    assert (record.state, record.counts.total) == (State.COMPLETED, 2)
    assert store.exists(Address.parse(record.output) / "_SUCCESS")


def test_a_bug_at_one_door_keeps_neither_the_other_nor_the_queue_shut(
    store, bucket, controller, make_settings, model, submitted, put_pictures, monkeypatch
):
    put_pictures(1)
    first = submitted()
    put_pictures(1, prefix="inbox/late/")
    store.write(Address(bucket, "inbox/late/_SUCCESS"), b"")
    monkeypatch.setattr("jobs.schedules.scheduler.Scheduler.look", lambda _: {}["a bug"])
    controller(make_settings(rules=(Rule(prefix="inbox/", model=model),))).once()
    assert not queued(store, bucket)
    assert RecordFile(store, JobPaths.of(bucket, first.job_id)).load().state is State.COMPLETED
    assert len(list(all_jobs(store, bucket))) == 2


def test_a_batch_that_closes_while_a_job_runs_is_written_down_at_once(
    store, bucket, controller, make_settings, model, submitted, put_pictures, workshop
):
    put_pictures(1)
    first = submitted()
    stop, noticed = threading.Event(), []

    def close_another(paths, epoch):
        if paths.job_id == first.job_id:
            put_pictures(1, prefix="inbox/late/")
            store.write(Address(bucket, "inbox/late/_SUCCESS"), b"")
            deadline = time.monotonic() + 30
            while len(queued(store, bucket)) < 2 and time.monotonic() < deadline:
                time.sleep(0.01)
            noticed.extend(queued(store, bucket))
        stop.set()

    workshop.before = close_another
    settings = make_settings(rules=(Rule(prefix="inbox/", model=model),))
    controller(settings).watch(stop)
    assert len(noticed) == 2
