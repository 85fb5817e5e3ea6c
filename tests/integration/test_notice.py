"""A node is taken back in the middle of a job, on real Ray with the engine of rules: what is in
hand is handed back, worked elsewhere, and has not failed."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from demo.store import embedded_store
from infra.clusters.base import NodeInterval
from infra.clusters.local.processes import CLUSTER_TAG, NODE_TAG, tagged
from jobs.addresses import Address, JobPaths
from jobs.cluster_record import cluster_records
from jobs.clusters.fleet import RETIRE_S
from jobs.order import Attempt, Marker
from jobs.record import Record, RecordFile
from jobs.store.bucket import Store
from tests.real_jobs import noise_job
from tests.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

BUCKET, PICTURES, SHARD = "factory", 40, 4
NOTICE_S = 20.0  # of which the last 15 are for going
CONTROLLER = f"""
import sys
from dataclasses import replace
from infra.clusters import make_cluster
from jobs.cli.store import open_store
from jobs.control.controller import Controller
settings, store = open_store()
def make(provider, spec, folder):
    return make_cluster(provider, replace(spec, notice_s={NOTICE_S}), folder)
Controller(store, settings, engine=f"fake:{{sys.argv[1]}}", make=make).once()
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="zs", ignore_cleanup_errors=True) as name:
        (Path(name) / "stage").mkdir()
        yield Path(name)


@pytest.fixture
def store() -> Iterator[Store]:
    with embedded_store(BUCKET) as store:
        yield store


@pytest.fixture
def environment(store: Store, folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "ZEROSHIFT_BUCKET": BUCKET,
        "ZEROSHIFT_ENDPOINT_URL": str(store.options.endpoint_url),
        "ZEROSHIFT_IDLE_WINDOW_S": "1",
        "ZEROSHIFT_WORK_DIR": str(folder / "w"),
        "ZEROSHIFT_SHARD_SIZE": str(SHARD),
        "ZEROSHIFT_POLL_S": "0.2",
    }


@pytest.fixture
def job(store: Store, environment: dict[str, str], tmp_path: Path) -> Record:
    return noise_job(store, environment, tmp_path, PICTURES, side=200)


@pytest.fixture
def controller(
    folder: Path, environment: dict[str, str], job: Record
) -> Iterator[subprocess.Popen[bytes]]:
    (folder / "w").mkdir()
    command = [sys.executable, "-c", CONTROLLER, str(folder / "stage")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    yield process
    if process.poll() is None:
        process.terminate()
    process.wait(120)
    print((folder / "log").read_text())


def test_a_node_that_is_taken_back_costs_no_shard_an_attempt(
    store: Store, job: Record, folder: Path, controller: subprocess.Popen[bytes]
) -> None:
    paths, hold = JobPaths.of(BUCKET, job.job_id), folder / "stage" / "hold"
    assert eventually(lambda: len(list(store.list(paths.markers))) >= 3, 240)
    hold.touch()
    [cluster] = cluster_records(store, BUCKET)
    [node] = _nodes(store)
    done = len(list(store.list(paths.markers)))
    _root_of(node.node_id).send_signal(signal.SIGTERM)
    began = time.monotonic()
    assert eventually(lambda: _nodes(store)[0].gone_at is not None, NOTICE_S + 30)
    print(f"gone {time.monotonic() - began:.1f} s after its notice of {NOTICE_S:g} s")
    print(f"{done} shards were done, {len(list(store.list(paths.markers)))} now")
    hold.unlink()
    assert controller.wait(200) == 0
    ended = RecordFile(store, paths).load()
    assert (ended.state.value, ended.epoch, ended.counts.errors) == ("completed", 1, 0)
    first, *others = _nodes(store)
    assert first.preempted
    assert first.joined_at < first.left_at <= first.gone_at <= first.left_at + NOTICE_S + 15
    assert others != [], "another node came"
    assert not any(each.preempted for each in others)
    attempt = Attempt.model_validate_json(store.read(paths.attempt(1)))
    assert attempt.error is None
    markers = [
        Marker.model_validate_json(store.read(each.address)) for each in store.list(paths.markers)
    ]
    again = [marker for marker in markers if marker.attempt > 1]
    assert attempt.preemptions == len(again) > 0, "each was handed back once"
    assert len(again) <= 3, "no more than one replica holds"
    assert all(marker.attempt == 2 for marker in again)
    assert_each_input_has_one_row(store, ended)
    assert tagged(CLUSTER_TAG, cluster.cluster_id) == []


def _nodes(store: Store) -> list[NodeInterval]:
    return [node for cluster in cluster_records(store, BUCKET) for node in cluster.nodes]


def _root_of(node_id: str) -> psutil.Process:
    """The process that a provider would tell."""
    found = tagged(NODE_TAG, node_id)
    [root] = [process for process in found if os.getsid(process.pid) == process.pid]
    return root


def assert_each_input_has_one_row(store: Store, ended: Record) -> None:
    keys = [
        json.loads(line)["key"]
        for part in store.list(Address.parse(ended.output) / "part-")
        for line in store.read(part.address).splitlines()
    ]
    assert sorted(keys) == [f"s3://{BUCKET}/in/{number:03d}.png" for number in range(PICTURES)]


def test_a_cancelled_job_gives_up_what_is_in_hand_so_that_its_cluster_can_rest(
    store: Store, job: Record, folder: Path, controller: subprocess.Popen[bytes]
) -> None:
    (folder / "stage" / "hold").touch()
    assert eventually(lambda: list((folder / "stage").glob("asked-*")), 240)
    RecordFile(store, JobPaths.of(BUCKET, job.job_id)).change(
        lambda old: old.model_copy(update={"cancel_requested": True})
    )
    began = time.monotonic()
    assert eventually(lambda: _nodes(store) and _nodes(store)[0].gone_at is not None, 100)
    taken_s = time.monotonic() - began
    print(f"gone {taken_s:.1f} s after the job was cancelled")
    assert taken_s < RETIRE_S, "the replica was waited for to the end of all patience"
    assert controller.wait(60) == 0
