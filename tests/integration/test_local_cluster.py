"""A real Ray cluster on this machine: nodes come on demand, stay on loopback, and go."""

import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from infra.clusters.base import ClusterSpec
from infra.clusters.local.cluster import LocalCluster
from infra.clusters.local.processes import CLUSTER_TAG, NODE_TAG, tagged

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

# Asks for what only a node has, says which node it got, and waits until its input is closed.
TASK = """
import os, sys, ray
ray.init(address=os.environ["RAY_ADDRESS"], log_to_driver=False, logging_level="error")
@ray.remote(resources={"zeroshift_engine": 1}, num_cpus=1)
def where():
    return os.environ["ZEROSHIFT_NODE"]
print(ray.get(where.remote(), timeout=120), flush=True)
sys.stdin.read()
"""

STRANGER = """
import os
from ray._raylet import GcsClient
GcsClient(os.environ["A"]).get_all_node_info()
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with tempfile.TemporaryDirectory(prefix="zs", ignore_cleanup_errors=True) as folder:
        name = f"test-{uuid.uuid4().hex[:8]}"
        spec = ClusterSpec(name, max_nodes=1, cpus=1, idle_s=1.0, lease_s=600)
        cluster = LocalCluster(spec, Path(folder))
        try:
            cluster.up()
            yield cluster
        finally:
            cluster.down()


def test_a_node_comes_from_zero_on_demand_and_goes_when_it_is_idle(cluster: LocalCluster) -> None:
    assert cluster.nodes() == []
    environment = {**os.environ, **cluster.environment()}
    with subprocess.Popen(
        [sys.executable, "-c", TASK],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as task:
        assert task.stdin is not None
        assert task.stdout is not None
        # Ray says things of its own beside it.
        said = (line.strip() for line in task.stdout)
        node = next(line for line in said if line.startswith(cluster.cluster_id))
        assert node == cluster.nodes()[0].node_id
        ours = tagged(CLUSTER_TAG, cluster.cluster_id)
        assert _descendants(cluster).items() <= {p.pid: p.name() for p in ours}.items()
        assert not _open_to_others(ours), "something listens beyond loopback"
        assert _refuses_without_token(cluster)
        task.stdin.close()
        assert task.wait(60) == 0
    assert _eventually(lambda: cluster.nodes()[0].gone_at is not None), "the node stayed"
    assert tagged(NODE_TAG, node) == []
    assert cluster.alive(), "the head goes last, when it is told to"


def _descendants(cluster: LocalCluster) -> dict[int, str]:
    """Names of all that the head has started, node and agents among them, whatever they carry."""
    assert cluster._head is not None
    found = psutil.Process(cluster._head.pid).children(recursive=True)
    titles = [" ".join(process.cmdline()) for process in found]
    assert len([title for title in titles if title.startswith("ray::DashboardAgent")]) == 2, titles
    assert len([title for title in titles if title.startswith("ray::RuntimeEnvAgent")]) == 2, titles
    return {process.pid: process.name() for process in found}


def _open_to_others(processes: list[psutil.Process]) -> list[tuple[str, int]]:
    listening = [
        connection.laddr
        for process in processes
        for connection in process.net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert listening, "a cluster listens somewhere"
    local = ("127.", "::1", "::ffff:127.")
    return [(a.ip, a.port) for a in listening if not a.ip.startswith(local)]


def _refuses_without_token(cluster: LocalCluster) -> bool:
    """Whether the GCS turns away a client that has no token."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
    address = cluster.environment()["RAY_ADDRESS"]
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [sys.executable, "-c", STRANGER],
            env={**plain, "A": address, "HOME": home, "RAY_AUTH_MODE": "disabled"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    return done.returncode != 0 and "uthenticat" in done.stderr


def _eventually(holds, seconds: float = 60.0) -> bool:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True
