"""Two controllers on one bucket, killed at random: each job runs once. On Ceph, whose locks hold.

They are the product's own, in processes of their own, over clusters of nothing; what a controller
was in the middle of when it was killed is what its successor finds in the bucket.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.addresses import Address, JobPaths
from jobs.manifest.manifest import parse_manifest
from jobs.queue import queued
from jobs.record import Record, RecordFile
from jobs.settings.settings import Settings
from jobs.states import State
from jobs.store.bucket import Store
from jobs.submit.submission import submit

JOBS, PICTURES, SHARD, KILLS, LEASE_S, END_S = 200, 4, 2, 20, 2.0, 800.0
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.ceph,
    pytest.mark.parametrize("server", ["ceph"], indirect=True),
]


class Controllers:
    """Two controllers; one that is killed is followed by another."""

    def __init__(self, environment: dict[str, str], log: Path) -> None:
        self._environment, self._log = environment, log
        self._processes = [self._start(), self._start()]

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.integration.controller_of_fakes"]
        with self._log.open("ab") as out:
            return subprocess.Popen(command, env=self._environment, stdout=out, stderr=out)

    def kill(self, number: int) -> None:
        process = self._processes[number]
        assert process.poll() is None, f"a controller ended by itself: {self._log.read_text()}"
        process.send_signal(signal.SIGKILL)
        process.wait()
        self._processes[number] = self._start()

    def end(self) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.wait(60)


@pytest.fixture
def settings(store: Store, bucket: str, tmp_path: Path) -> Settings:
    return Settings(
        bucket=bucket,
        endpoint_url=store.options.endpoint_url,
        poll_s=0.05,
        cluster_lease_s=LEASE_S,
        shard_size=SHARD,
        work_dir=tmp_path,
    )


@pytest.fixture
def jobs(store: Store, bucket: str, settings: Settings) -> list[Record]:
    for number in range(PICTURES):
        store.write(Address(bucket, f"in/{number}.png"), b"nobody decodes it")
    return [_submitted(store, settings, f"job-{number:03d}") for number in range(JOBS)]


def _submitted(store: Store, settings: Settings, name: str) -> Record:
    manifest = {
        "name": name,
        "inputs": {"prefix": f"s3://{settings.bucket}/in/"},
        "output": f"s3://{settings.bucket}/results/{name}/",
        "model": "zeroshift/parts-inspector",
    }
    return submit(store, settings, parse_manifest(json.dumps(manifest), "m.json")).record


@pytest.fixture
def controllers(settings: Settings, tmp_path: Path) -> Iterator[Controllers]:
    given = settings.model_dump(
        include={"bucket", "endpoint_url", "poll_s", "cluster_lease_s", "shard_size", "work_dir"}
    )
    variables = {f"ZEROSHIFT_{name.upper()}": str(value) for name, value in given.items()}
    running = Controllers({**os.environ, **variables}, tmp_path / "controllers.log")
    yield running
    running.end()


def test_two_hundred_jobs_under_two_controllers_that_are_killed_run_once_each(
    store, bucket, jobs, controllers
):
    random_, deadline = random.Random(7), time.monotonic() + END_S
    marks = sorted(random_.sample(range(2, JOBS - 5), KILLS))  # jobs done, when one is killed
    while left := len(list(queued(store, bucket))):
        assert time.monotonic() < deadline, f"{left} jobs are left"
        if marks and JOBS - left >= marks[0]:
            marks.pop(0)
            time.sleep(random_.uniform(0.0, 0.3))  # anywhere in the life of a job
            controllers.kill(random_.randrange(2))
        time.sleep(0.05)
    assert not marks
    records = [_load(store, bucket, job) for job in jobs]
    assert Counter(each.state for each in records) == {State.COMPLETED: JOBS}
    assert sum(each.epoch - 1 for each in records) <= KILLS  # a kill hands on one job at most
    for record in records:
        _check_results(store, bucket, record)
    assert sum(_in_vain(store, bucket, each) for each in records) <= KILLS


def _load(store: Store, bucket: str, record: Record) -> Record:
    return RecordFile(store, JobPaths.of(bucket, record.job_id)).load()


def _check_results(store: Store, bucket: str, record: Record) -> None:
    output = Address.parse(record.output)
    parts = [store.read(each.address) for each in store.list(output / "part-")]
    keys = sorted(json.loads(line)["key"] for part in parts for line in part.splitlines())
    assert keys == [f"s3://{bucket}/in/{number}.png" for number in range(PICTURES)]
    assert json.loads(store.read(output / "_SUCCESS")) == {"job_id": record.job_id}


def _in_vain(store: Store, bucket: str, record: Record) -> int:
    """Shards that were worked to the end more than once."""
    rows = list(store.list(JobPaths.of(bucket, record.job_id).rows))
    return len(rows) - PICTURES // SHARD
