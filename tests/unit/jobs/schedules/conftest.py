"""What tests of schedules share: a clock to turn, a store in memory, and schedules in it."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from jobs.addresses import Address, JobPaths
from jobs.record import RecordFile
from jobs.schedules.files import ScheduleFile, runs
from jobs.schedules.schedule import Plan, Schedule
from jobs.schedules.scheduler import Scheduler
from jobs.settings.settings import Settings
from jobs.states import State
from jobs.store.bucket import Store
from jobs.submit.submission import load_manifest

MIDNIGHT = (time.time() // 86400 + 1) * 86400  # after whatever the tests write now


class Clock:
    def __init__(self) -> None:
        self.now = MIDNIGHT

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def server(memory: Store) -> Store:
    return memory


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def scheduler(store: Store, settings: Settings, clock: Clock) -> Callable[..., Scheduler]:
    return lambda owner="one", settings=settings: Scheduler(store, settings, owner, clock)


@pytest.fixture
def add(store: Store, bucket: str, model: str, clock: Clock) -> Callable[..., ScheduleFile]:
    """A schedule that fires every hour."""

    def make(name: str = "hourly", **changes: Any) -> ScheduleFile:
        common = {"cron": "0 * * * *", "prefix": f"s3://{bucket}/cam/", "model": model}
        common["output"] = f"s3://{bucket}/results/{name}/"
        plan = Plan(**{"name": name, **common, **changes})
        file = ScheduleFile(store, bucket, name)
        file.create(Schedule(plan=plan, created_at=clock(), cursor=clock()))
        return file

    return make


@pytest.fixture
def put(store: Store, bucket: str) -> Callable[..., None]:
    def write(*names: str, body: bytes = b"x") -> None:
        for name in names:
            store.write(Address(bucket, f"cam/{name}"), body + name.encode())

    return write


@pytest.fixture
def end(store: Store, bucket: str) -> Callable[[str], None]:
    """Ends a job."""

    def finish(job: str) -> None:
        file = RecordFile(store, JobPaths.of(bucket, job))
        file.change(lambda old: old.moved(State.CANCELLED, 1.0))

    return finish


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
