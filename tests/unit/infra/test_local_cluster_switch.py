"""The dead man's switch of a real local cluster with a hollow head: it outlives its raiser."""

import os
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from infra.clusters.base import ClusterSpec
from infra.clusters.local import processes, ray_start, teardown
from infra.clusters.local.cluster import LocalCluster
from infra.clusters.local.registry import Registry
from infra.errors import StartFailed
from tests.waiting import eventually

SLEEPER = "import time; print('ready', flush=True); time.sleep(300)"
HEAD = "import os, time; os.makedirs({0!r}); open({0!r} + '/ray_current_cluster', 'w').close(); "

# Raises a cluster and waits to be killed, as a controller does.
RAISER = """
import sys, time
from pathlib import Path
from infra.clusters.base import ClusterSpec
from infra.clusters.local import ray_start
from infra.clusters.local.cluster import LocalCluster
head = lambda temp: {head!r}.format(str(temp)) + "time.sleep(300)"
ray_start.head_command = lambda port, config, temp: [sys.executable, "-c", head(temp)]
cluster = LocalCluster(ClusterSpec({name!r}, 1, 1, lease_s={lease_s}), Path({folder!r}))
cluster.up()
print("up", flush=True)
time.sleep(300)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="zs", ignore_cleanup_errors=True) as name:
        yield Path(name)


@pytest.fixture
def name() -> Iterator[str]:
    unique = f"sw-{uuid.uuid4().hex[:8]}"
    yield unique
    processes.end(processes.CLUSTER_TAG, unique, grace_s=1)


@pytest.fixture
def raised(folder, name, monkeypatch) -> Iterator[Callable[..., LocalCluster]]:
    def hollow(port: int, config: Path, temp: Path) -> list[str]:
        return [sys.executable, "-c", HEAD.format(str(temp)) + "time.sleep(300)"]

    monkeypatch.setattr(ray_start, "head_command", hollow)
    made = []

    def up(**spec: float) -> LocalCluster:
        made.append(LocalCluster(ClusterSpec(name, 1, 1, **spec), folder))
        made[-1].up()
        return made[-1]

    yield up
    for cluster in made:
        cluster.down()


def switches(name: str) -> list[psutil.Process]:
    return processes.tagged(processes.NODE_TAG, teardown.switch_of(name))


def test_the_switch_runs_in_a_session_of_its_own_and_is_small(raised, name):
    raised()
    [found] = switches(name)
    assert os.getsid(found.pid) == found.pid
    assert found.memory_info().rss < 30e6


def test_the_switch_stands_before_there_is_a_head(raised, name, monkeypatch):
    seen = []
    start = LocalCluster._raise_head

    def look(cluster: LocalCluster, port: int) -> None:
        seen.extend(switches(name))
        start(cluster, port)

    monkeypatch.setattr(LocalCluster, "_raise_head", look)
    raised()
    assert len(seen) == 1


def test_a_switch_that_does_not_stand_keeps_the_cluster_from_rising(raised, folder, monkeypatch):
    monkeypatch.setattr("infra.clusters.local.cluster.SWITCH", (sys.executable, "-c", "1/0", "x"))
    with pytest.raises(StartFailed, match=r"the switch ended while starting: .*ZeroDivisionError"):
        raised()


def test_when_its_raiser_is_killed_the_cluster_ends_within_its_lease(folder, name):
    code = RAISER.format(head=HEAD, name=name, lease_s=2.0, folder=str(folder))
    raiser = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True
    )
    with raiser:
        assert raiser.stdout is not None
        assert raiser.stdout.readline() == b"up\n"
        assert len(processes.tagged(processes.CLUSTER_TAG, name)) == 2
        raiser.send_signal(signal.SIGKILL)
    assert eventually(lambda: not processes.tagged(processes.CLUSTER_TAG, name), 15)
    [reason] = folder.glob("*/end-reason")
    assert reason.read_text() == "its lease of 2 s was not renewed"


def test_nodes_go_with_the_cluster_and_their_intervals_are_closed(raised, folder, name):
    cluster = raised(lease_s=1.0)
    registry = Registry(Path(cluster.place.partition(":")[2]) / "nodes")
    registry.add(f"{name}-n1", {})
    tags = {processes.CLUSTER_TAG: name, processes.NODE_TAG: f"{name}-n1"}
    node = processes.spawn([sys.executable, "-c", SLEEPER], {**os.environ, **tags}, folder / "n")
    assert eventually(lambda: node.poll() is not None)
    assert eventually(lambda: not cluster.leftovers())
    [interval] = cluster.nodes()
    assert interval.gone_at is not None


def test_a_killed_switch_is_started_anew_with_the_next_renewal(raised, name):
    cluster = raised()
    [first] = switches(name)
    first.kill()
    assert eventually(lambda: not switches(name))
    # Its tag is gone a moment before its exit status is there: then a later renewal does it.
    assert eventually(lambda: cluster.renew(60.0) or len(switches(name)) == 1)
    cluster.down()
    assert cluster.leftovers() == []


def test_a_switch_that_is_told_to_end_takes_the_cluster_with_it(raised, name):
    cluster = raised()
    switches(name)[0].terminate()
    assert eventually(lambda: not cluster.leftovers())
    assert cluster.end_reason() == "its switch was told to end"


def test_a_normal_end_takes_the_switch_along_and_leaves_no_reason(raised, name):
    cluster = raised()
    cluster.down()
    assert switches(name) == []
    assert cluster.end_reason() == ""


def test_a_cluster_that_is_to_forget_removes_its_folder_when_it_ends_itself(raised, folder):
    cluster = raised(lease_s=0.5, forget=True)
    assert eventually(lambda: not cluster.leftovers())
    assert list(folder.iterdir()) == []


def test_a_folder_that_is_taken_away_ends_the_cluster(raised):
    cluster = raised()
    cluster.forget()
    assert eventually(lambda: not cluster.leftovers())
