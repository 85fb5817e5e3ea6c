"""The contract of `infra.clusters.base`, kept by the fake and by the real local cluster alike.

The real one's worker is an empty one: `retire` asks nothing of it that needs an engine. What has
nothing to do with Ray is held against a hollow local cluster too: real processes, a head that does
nothing.
"""

import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from infra.clusters import make_cluster, make_sweeper
from infra.clusters.base import Cluster, ClusterSpec, Sweeper
from infra.clusters.fake import FakeCluster, FakeSweeper
from infra.clusters.local import ray_start, signs
from infra.clusters.local.cluster import LocalCluster
from infra.clusters.local.registry import Registry
from infra.errors import ClusterError, StartFailed
from tests.waiting import eventually

KINDS = ["fake", "hollow", pytest.param("local", marks=pytest.mark.slow)]
Make = Callable[..., Cluster]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def make(kind: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Makes clusters of one kind; all are ended afterwards. `starts` False: the head can't."""
    # Not pytest's own folders: Ray's sockets need short paths.
    folder = tempfile.TemporaryDirectory(prefix="zs", ignore_cleanup_errors=True)
    made: list[Cluster] = []
    if kind == "hollow":
        monkeypatch.setattr(ray_start, "head_command", hollow_head)

    def make(starts: bool = True, **changes: float) -> Cluster:
        name, start_s = f"contract-{uuid.uuid4().hex[:8]}", 90 if starts else 0
        given = {"lease_s": 300.0, **changes}  # nothing renews it while a test looks
        spec = ClusterSpec(name, 1, 1, start_s=start_s, fleet=name, **given)
        if kind == "fake":
            made.append(FakeCluster(spec, lambda *_: 0, starts))
        else:
            made.append(LocalCluster(spec, Path(folder.name)))
        return made[-1]

    yield make
    for cluster in made:
        cluster.down()
    folder.cleanup()


def hollow_head(port: int, config: Path, temp: Path) -> list[str]:
    """Says that it is complete, as a head does, and waits."""
    code = f"import os, time; os.makedirs({str(temp)!r}); open({str(temp)!r} + '/"
    return [sys.executable, "-c", f"{code}ray_current_cluster', 'w').close(); time.sleep(300)"]


@pytest.fixture
def sweeper(kind: str) -> Callable[[Cluster], Sweeper]:
    """How the provider of a cluster finds it by its tags."""
    return lambda cluster: FakeSweeper([cluster]) if kind == "fake" else make_sweeper("local")


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


def test_a_nodes_moments_are_in_order(make, node_of, tmp_path):
    cluster = make()
    cluster.up()
    node_of(cluster, tmp_path)
    [living] = cluster.nodes()
    assert living.joined_at is not None
    assert (living.left_at, living.gone_at, living.preempted) == (None, None, False)
    cluster.down()
    [node] = cluster.nodes()
    assert node.launched_at <= node.joined_at <= node.left_at <= node.gone_at
    assert node.joined_at == living.joined_at
    assert not node.preempted


@pytest.fixture
def node_of(kind: str) -> Callable[[Cluster, Path], None]:
    """Brings a cluster's first node, as its kind does on demand."""

    def work(cluster: Cluster, folder: Path) -> None:
        cluster.launch(["work"], {}, folder / "log").wait(60)

    def demand(cluster: LocalCluster, folder: Path) -> None:
        environment = {**os.environ, **cluster.environment()}
        subprocess.run([sys.executable, "-c", DEMAND], env=environment, check=True, timeout=150)

    def entry(cluster: LocalCluster, folder: Path) -> None:
        registry = Registry(Path(cluster.place.partition(":")[2]) / "nodes")
        registry.add("n1", {})
        signs.give(registry.signs_of("n1"), signs.JOINED)

    found = {"fake": work, "local": demand, "hollow": entry}
    return found[kind]


# Asks for what only a node has.
DEMAND = """
import os, ray
ray.init(address=os.environ["RAY_ADDRESS"], log_to_driver=False)
@ray.remote(resources={"zeroshift_engine": 1}, num_cpus=1)
def here():
    return 1
ray.get(here.remote(), timeout=120)
"""


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


@pytest.fixture
def short_s(kind: str) -> float:
    """A short lease that a cluster of this kind can be raised within, on a busy machine too."""
    return 40.0 if kind == "local" else 1.0


def test_a_cluster_whose_lease_is_not_renewed_ends_itself_and_says_why(make, short_s):
    cluster = make(lease_s=short_s)
    cluster.up()
    cluster.renew(0.5)
    assert eventually(lambda: not cluster.alive(), 180.0)
    assert eventually(lambda: cluster.leftovers() == [], 180.0)
    assert "was not renewed" in cluster.end_reason()


def test_a_cluster_whose_lease_is_renewed_outlives_the_first_one(make, short_s):
    cluster = make(lease_s=short_s)
    cluster.up()
    cluster.renew(60.0)
    assert not eventually(lambda: not cluster.alive(), short_s * 1.5), cluster.end_reason()
    assert cluster.end_reason() == ""


def test_a_cluster_ends_at_its_lifetime_however_often_its_lease_is_renewed(make, short_s):
    cluster = make(lifetime_s=short_s)
    cluster.up()

    def gone() -> bool:
        cluster.renew(60.0)
        return not cluster.leftovers()

    assert eventually(gone, 180.0)
    assert cluster.end_reason() == f"its lifetime of {short_s:g} s is over"


def test_renewing_what_is_not_up_or_has_gone_down_brings_nothing_to_life(make):
    cluster = make()
    cluster.renew(60.0)
    assert cluster.leftovers() == []
    cluster.up()
    cluster.down()
    cluster.renew(60.0)
    assert (cluster.alive(), cluster.leftovers(), cluster.end_reason()) == (False, [], "")


def test_a_cluster_is_found_by_the_tag_of_its_fleet_and_no_other(make, sweeper):
    cluster = make()
    cluster.up()
    sweep = sweeper(cluster)
    assert sweep.clusters(cluster.cluster_id)[cluster.cluster_id] != []
    assert sweep.clusters("another") == {}
    assert sweep.sees(cluster.place)
    assert not sweep.sees("far-away:/tmp/zs")


def test_what_nobody_holds_any_more_is_ended_by_its_tag_and_twice_is_no_error(make, sweeper):
    cluster = make()
    cluster.up()
    sweep = sweeper(cluster)
    for _ in range(2):
        assert sweep.end(cluster.cluster_id, cluster.place) == []
    assert sweep.clusters(cluster.cluster_id) == {}
    assert not cluster.alive()
    assert sweep.nodes(cluster.cluster_id, cluster.place) == cluster.nodes()


def test_nothing_is_refused_while_nothing_was_asked(cluster):
    assert cluster.refusal() == ""


def test_a_worker_ends_with_a_status_that_stays(cluster, tmp_path, kind):
    if kind == "hollow":
        pytest.skip("a hollow head takes no worker")
    process = cluster.launch(["retire"], {}, tmp_path / "worker.log")
    assert process.wait(120) == 0
    assert process.poll() == 0
    assert process.wait() == 0


def test_stopping_a_worker_that_has_ended_is_no_error(cluster, tmp_path, kind):
    if kind == "hollow":
        pytest.skip("a hollow head takes no worker")
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
