"""The contract of `infra.clusters.base`, kept by the fake and by the real local cluster alike.

The real one's worker is an empty one: `retire` asks nothing of it that needs an engine.
"""

import subprocess
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from infra.clusters import make_cluster
from infra.clusters.base import Cluster, ClusterSpec
from infra.clusters.fake import FakeCluster
from infra.clusters.local.cluster import LocalCluster
from infra.errors import ClusterError, StartFailed

KINDS = [pytest.param("fake", id="fake"), pytest.param("local", id="local", marks=pytest.mark.slow)]
Make = Callable[..., Cluster]


@pytest.fixture(params=KINDS)
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """Makes clusters of one kind; all are ended afterwards. `starts` False: the head can't."""
    # Not pytest's own folders: Ray's sockets need short paths.
    folder = tempfile.TemporaryDirectory(prefix="zs", ignore_cleanup_errors=True)
    made: list[Cluster] = []

    def make(starts: bool = True) -> Cluster:
        spec = ClusterSpec(f"contract-{uuid.uuid4().hex[:8]}", 1, 1, start_s=90 if starts else 0)
        if request.param == "fake":
            made.append(FakeCluster(spec, lambda *_: 0, starts))
        else:
            made.append(LocalCluster(spec, Path(folder.name)))
        return made[-1]

    yield make
    for cluster in made:
        cluster.down()
    folder.cleanup()


@pytest.fixture
def cluster(make: Make) -> Cluster:
    cluster = make()
    cluster.up()
    return cluster


def test_before_it_is_raised_nothing_runs(make):
    cluster = make()
    assert not cluster.alive()
    assert cluster.nodes() == []
    assert cluster.leftovers() == []


def test_looking_before_it_is_raised_does_not_keep_it_from_rising(make):
    cluster = make()
    assert (cluster.nodes(), cluster.leftovers()) == ([], [])
    cluster.up()
    assert cluster.alive()


def test_a_raised_cluster_has_a_living_head_and_no_node_yet(cluster):
    assert cluster.alive()
    assert cluster.nodes() == []
    assert cluster.cluster_id.startswith("contract-")


def test_what_runs_can_be_told_while_it_runs(cluster):
    assert cluster.leftovers() != []


def test_after_it_went_down_nothing_is_left(cluster):
    cluster.down()
    assert not cluster.alive()
    assert cluster.leftovers() == []
    assert all(node.gone_at is not None for node in cluster.nodes())


def test_going_down_twice_is_no_error(cluster):
    cluster.down()
    before = cluster.nodes()
    cluster.down()
    assert cluster.nodes() == before


def test_a_cluster_that_was_never_raised_can_go_down(make):
    cluster = make()
    cluster.down()
    assert cluster.leftovers() == []


def test_a_head_that_does_not_answer_is_an_error_and_leaves_nothing(make):
    cluster = make(starts=False)
    with pytest.raises(StartFailed, match="did not answer"):
        cluster.up()
    cluster.down()
    assert cluster.leftovers() == []


def test_a_worker_ends_with_a_status_that_stays(cluster, tmp_path):
    process = cluster.launch(["retire"], {}, tmp_path / "worker.log")
    assert process.wait(120) == 0
    assert process.poll() == 0
    assert process.wait() == 0


def test_stopping_a_worker_that_has_ended_is_no_error(cluster, tmp_path):
    process = cluster.launch(["retire"], {}, tmp_path / "worker.log")
    process.wait(120)
    cluster.stop(process)
    assert process.poll() == 0


def test_a_provider_that_there_is_not_is_refused_with_those_there_are(tmp_path):
    with pytest.raises(ClusterError, match="no provider 'moon'; allowed: local"):
        make_cluster("moon", ClusterSpec("c", 1, 1), tmp_path)


def test_the_local_provider_is_made_without_touching_the_disk(tmp_path):
    cluster = make_cluster("local", ClusterSpec("c-1234567", 1, 1), tmp_path)
    assert isinstance(cluster, LocalCluster)
    assert not cluster.alive()
    assert list(tmp_path.iterdir()) == []


class TestFakeCluster:
    """What the fake adds: its workers are functions, and work makes a node."""

    def test_a_worker_that_runs_has_no_status_yet(self, tmp_path):
        release = threading.Event()
        cluster = FakeCluster(ClusterSpec("f", 1, 1), lambda *_: 7 if release.wait(10) else 1)
        cluster.up()
        process = cluster.launch(["work"], {}, tmp_path)
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
        release.set()
        assert process.wait(10) == 7

    def test_work_adds_a_node_and_retiring_ends_it(self, tmp_path):
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

    def test_a_worker_sees_its_arguments_and_environment(self, tmp_path: Path):
        seen = []
        cluster = FakeCluster(ClusterSpec("f", 1, 1), lambda *given: seen.append(given) or 0)
        cluster.launch(["work", "s3://b/j/"], {"A": "1"}, tmp_path).wait(10)
        assert seen == [(["work", "s3://b/j/"], {"A": "1"})]
