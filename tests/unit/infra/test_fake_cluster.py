"""What the fake cluster adds to the contract: its workers are functions, and work makes a node."""

import subprocess
import threading
from pathlib import Path

import pytest

from infra.clusters.base import ClusterSpec
from infra.clusters.fake import FakeCluster


def test_a_worker_that_runs_has_no_status_yet(tmp_path):
    release = threading.Event()
    cluster = FakeCluster(ClusterSpec("f", 1, 1), lambda *_: 7 if release.wait(10) else 1)
    cluster.up()
    process = cluster.launch(["work"], {}, tmp_path)
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.01)
    release.set()
    assert process.wait(10) == 7


def test_work_adds_a_node_and_retiring_ends_it(tmp_path):
    cluster = FakeCluster(ClusterSpec("f", 1, 1), lambda *_: 0)
    cluster.up()
    cluster.launch(["work"], {}, tmp_path).wait(10)
    assert [node.gone_at for node in cluster.nodes()] == [None]
    cluster.launch(["retire"], {}, tmp_path).wait(10)
    cluster.launch(["work"], {}, tmp_path).wait(10)
    first, second = cluster.nodes()
    assert first.gone_at is not None
    assert first.launched_at <= first.gone_at
    assert (first.node_id, second.node_id, second.gone_at) == ("f-n1", "f-n2", None)


def test_a_worker_sees_its_arguments_and_environment(tmp_path: Path):
    seen = []
    cluster = FakeCluster(ClusterSpec("f", 1, 1), lambda *given: seen.append(given) or 0)
    cluster.launch(["work", "s3://b/j/"], {"A": "1"}, tmp_path).wait(10)
    assert seen == [(["work", "s3://b/j/"], {"A": "1"})]


def test_its_switch_goes_by_the_clock_it_was_given():
    now = [0.0]
    spec = ClusterSpec("f", 1, 1, lease_s=30, lifetime_s=100)
    cluster = FakeCluster(spec, lambda *_: 0, clock=lambda: now[0])
    cluster.up()
    for now[0] in (29.0, 58.0, 87.0):
        assert cluster.alive()
        cluster.renew(30)
    now[0] = 99.9
    assert cluster.alive()
    now[0] = 100.0
    assert (cluster.alive(), cluster.end_reason()) == (False, "its lifetime of 100 s is over")


def test_without_capacity_work_finds_no_node(tmp_path: Path):
    cluster = FakeCluster(ClusterSpec("f", 1, 1), lambda *_: 0, capacity=0)
    cluster.up()
    cluster.launch(["work"], {}, tmp_path).wait(10)
    assert (cluster.nodes(), cluster.refusal()) == ([], "no_capacity: all 0 nodes are taken")


def test_a_node_that_is_taken_back_is_preempted_and_the_next_work_has_another(tmp_path: Path):
    cluster = FakeCluster(ClusterSpec("f", 1, 1), lambda *_: 0)
    cluster.up()
    cluster.launch(["work"], {}, tmp_path).wait(10)
    cluster.preempt()
    cluster.launch(["work"], {}, tmp_path).wait(10)
    first, second = cluster.nodes()
    assert (first.preempted, second.preempted) == (True, False)
    assert first.joined_at <= first.left_at <= first.gone_at <= second.launched_at
