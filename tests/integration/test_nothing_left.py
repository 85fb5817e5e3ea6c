"""A controller is killed in the middle of a job, on real Ray with the engine of rules: its cluster
goes by itself, another controller finishes the job, and what was spent is in the books."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from demo.store import embedded_store
from infra.clusters.base import ClusterSpec
from infra.clusters.local.cluster import LocalCluster
from infra.clusters.local.processes import CLUSTER_TAG, tagged
from jobs.addresses import Address, JobPaths
from jobs.cluster_record import cluster_records
from jobs.cost.ledger import entries
from jobs.record import Record, RecordFile
from jobs.store.bucket import Store
from tests.real_jobs import noise_job
from tests.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

BUCKET, PICTURES, LEASE_S = "factory", 120, 6.0
CONTROLLER = """
from jobs.cli.store import open_store
from jobs.control.controller import Controller
settings, store = open_store()
Controller(store, settings, engine="fake").once()
"""


@pytest.fixture
def work_dir() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="zs", ignore_cleanup_errors=True) as name:
        yield Path(name)


@pytest.fixture
def store() -> Iterator[Store]:
    with embedded_store(BUCKET) as store:
        yield store


@pytest.fixture
def environment(store: Store, work_dir: Path) -> dict[str, str]:
    return {
        **os.environ,
        "ZEROSHIFT_BUCKET": BUCKET,
        "ZEROSHIFT_ENDPOINT_URL": str(store.options.endpoint_url),
        "ZEROSHIFT_IDLE_WINDOW_S": "1",
        "ZEROSHIFT_CLUSTER_LEASE_S": f"{LEASE_S:g}",
        "ZEROSHIFT_WORK_DIR": str(work_dir),
        "ZEROSHIFT_SHARD_SIZE": "2",
        "ZEROSHIFT_POLL_S": "0.2",
    }


@pytest.fixture
def job(store: Store, environment: dict[str, str], tmp_path: Path) -> Record:
    return noise_job(store, environment, tmp_path, PICTURES, side=1200)


@pytest.fixture
def controller(environment: dict[str, str]) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    started = []

    def start() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", CONTROLLER]
        started.append(subprocess.Popen(command, env=environment, start_new_session=True))
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.terminate()
        process.wait(120)


def test_a_killed_controllers_cluster_ends_by_itself_and_its_job_is_finished_by_another(
    store: Store, job: Record, controller: Callable[[], subprocess.Popen[bytes]]
) -> None:
    paths = JobPaths.of(BUCKET, job.job_id)
    first = controller()
    assert eventually(lambda: len(list(store.list(paths.markers))) >= 3, 240)
    first.send_signal(signal.SIGKILL)
    killed = time.monotonic()
    first.wait()
    [cluster] = cluster_records(store, BUCKET)
    assert len(list(store.list(paths.markers))) < PICTURES / 2, "killed too late to mean anything"
    assert tagged(CLUSTER_TAG, cluster.cluster_id), "it runs on, for the length of its lease"
    assert eventually(lambda: not tagged(CLUSTER_TAG, cluster.cluster_id), LEASE_S + 30)
    print(f"gone {time.monotonic() - killed:.1f} s after the kill, lease {LEASE_S:g} s")
    worked = {each.address: each.etag for each in store.list(paths.markers)}

    time.sleep(max(0.0, killed + LEASE_S + 6 - time.monotonic()))  # the reaper allows for skew
    assert controller().wait(200) == 0
    print(f"finished {time.monotonic() - killed:.1f} s after the kill")
    ended = RecordFile(store, paths).load()
    assert (ended.state.value, ended.epoch) == ("completed", 2)
    assert_each_input_has_one_row(store, ended)
    left = {each.address: each.etag for each in store.list(paths.markers)}
    assert worked.items() <= left.items(), "a committed shard was worked again"
    assert_all_node_time_is_in_the_books(store, ended)


def assert_each_input_has_one_row(store: Store, ended: Record) -> None:
    keys = [
        json.loads(line)["key"]
        for part in store.list(Address.parse(ended.output) / "part-")
        for line in store.read(part.address).splitlines()
    ]
    assert sorted(keys) == [f"s3://{BUCKET}/in/{number:03d}.png" for number in range(PICTURES)]


def assert_all_node_time_is_in_the_books(store: Store, ended: Record) -> None:
    second, first = cluster_records(store, BUCKET)
    assert "it ended itself: its lease of 6 s was not renewed" in first.checked
    assert first.checked.startswith("reaped at ")
    assert (second.state, second.checked) == ("down", "no process is left")
    nodes = [node for each in (first, second) for node in each.nodes]
    assert len(nodes) == 2
    assert all(node.gone_at is not None for node in nodes)
    kept = [entry.node for entry in entries(store, BUCKET) if entry.kind == "node"]
    assert {node.node_id for node in kept} == {node.node_id for node in nodes}
    assert tagged(CLUSTER_TAG, first.cluster_id) == tagged(CLUSTER_TAG, second.cluster_id) == []


# Holds a node as others' leftovers did: an actor that asks for nothing, and an empty group.
HOLD = """
import os, ray
from ray.util.placement_group import placement_group
ray.init(address=os.environ["RAY_ADDRESS"], namespace="x", log_to_driver=False)
@ray.remote(num_cpus=0, resources={"zeroshift_engine": 0.001}, lifetime="detached", name="held")
class Held:
    def here(self): return 1
ray.get(Held.remote().here.remote(), timeout=120)
group = placement_group([{"CPU": 1}], lifetime="detached", name="empty")
ray.get(group.ready(), timeout=60)
"""


def test_retiring_removes_what_holds_a_node_though_nothing_runs(work_dir: Path) -> None:
    spec = ClusterSpec("test-held", max_nodes=1, cpus=1, idle_s=1.0, lease_s=120)
    cluster = LocalCluster(spec, work_dir)
    try:
        cluster.up()
        environment = {**os.environ, **cluster.environment()}
        subprocess.run([sys.executable, "-c", HOLD], env=environment, check=True, timeout=150)
        [node] = cluster.nodes()
        assert not eventually(lambda: cluster.nodes()[0].gone_at is not None, 8), "it is held"
        assert cluster.launch(["retire"], {}, work_dir / "log").wait(60) == 0
        assert eventually(lambda: cluster.nodes()[0].gone_at is not None, 40), "it is held still"
        assert cluster.alive(), node
    finally:
        cluster.down()
