"""How Ray is started: private, quiet, with authentication, and without secrets in a command."""

import os
import stat
import sys
import uuid
from pathlib import Path

import pytest

from infra.clusters.local import processes, ray_start
from infra.clusters.local.processes import CLUSTER_TAG, NODE_TAG

BASE = {
    "PATH": "/bin",
    "RAY_ADDRESS": "auto",
    "RAY_NAMESPACE": "x",
    "AWS_SECRET_ACCESS_KEY": "s3cret",
}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return ray_start.cluster_environment(BASE, "job-1", tmp_path, (1111, 2222))


def commands() -> list[list[str]]:
    head = ray_start.head_command(6399, Path("/c.json"), Path("/t"))
    return [head, ray_start.node_command("127.0.0.1:6399", 2, Path("/n1"))]


def option(command: list[str], name: str) -> str:
    return next(part.partition("=")[2] for part in command if part.startswith(f"--{name}="))


def test_free_ports_are_all_different():
    ports = ray_start.free_ports(50)
    assert len(set(ports)) == 50
    assert all(1023 < port < 65536 for port in ports)


def test_no_two_ports_of_one_command_are_the_same():
    for command in commands():
        ports = [part.partition("=")[2] for part in command if "port" in part.partition("=")[0]]
        assert len(ports) >= 4
        assert len(set(ports)) == len(ports)


def test_a_token_can_be_read_by_this_user_alone(tmp_path):
    path = tmp_path / "token"
    ray_start.write_token(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(path.read_text()) == 64


def test_each_cluster_has_a_token_of_its_own(tmp_path):
    for name in "ab":
        ray_start.write_token(tmp_path / name)
    assert (tmp_path / "a").read_text() != (tmp_path / "b").read_text()


def test_authentication_is_on_and_the_token_is_passed_as_a_path(environment, tmp_path):
    ray_start.write_token(tmp_path / "token")
    assert environment["RAY_AUTH_MODE"] == "token"
    assert environment["RAY_AUTH_TOKEN_PATH"] == str(tmp_path / "token")
    assert (tmp_path / "token").read_text() not in environment.values()


def test_no_command_holds_a_secret(environment, tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    ray_start.write_token(tmp_path / "token")
    token = (tmp_path / "token").read_text()
    for command in commands():
        assert token not in " ".join(command)
        assert "s3cret" not in " ".join(command)


def test_the_callers_ray_variables_are_not_inherited(environment):
    assert "RAY_ADDRESS" not in environment
    assert "RAY_NAMESPACE" not in environment
    assert environment["PATH"] == "/bin"


def test_every_process_carries_the_clusters_tag(environment):
    assert environment[CLUSTER_TAG] == "job-1"


def test_nothing_is_reported_to_anybody(environment):
    assert environment["RAY_USAGE_STATS_ENABLED"] == "0"
    assert all("--disable-usage-stats" in command for command in commands())


def test_everything_listens_on_loopback_alone():
    assert [option(command, "node-ip-address") for command in commands()] == ["127.0.0.1"] * 2
    assert "--include-dashboard=false" in commands()[0]


def test_the_head_has_no_capacity_for_work():
    head = commands()[0]
    assert (option(head, "num-cpus"), option(head, "num-gpus")) == ("0", "0")
    assert not any(part.startswith("--resources") for part in head)


def test_a_node_joins_the_head_with_room_for_one_engine():
    node = commands()[1]
    assert option(node, "address") == "127.0.0.1:6399"
    assert option(node, "num-cpus") == "2"
    assert option(node, "resources") == '{"zeroshift_engine": 1}'


def test_a_node_tells_the_autoscaler_which_one_it_is(environment):
    node = ray_start.node_environment(environment, "job-1-n1", "engine")
    assert node[NODE_TAG] == node["RAY_CLOUD_INSTANCE_ID"] == "job-1-n1"
    assert node["RAY_NODE_TYPE_NAME"] == "engine"
    assert node[CLUSTER_TAG] == "job-1"


TITLED = """
import time, ray._raylet
ray._raylet.setproctitle("ray::DashboardAgent" + "." * 3000)
print("ready", flush=True)
time.sleep(60)
"""


def test_a_process_that_ray_gives_a_title_is_still_found_by_its_tag_and_ended(tmp_path):
    pytest.importorskip("ray")
    name = f"titled-{uuid.uuid4().hex}"
    environment = ray_start.cluster_environment(os.environ, name, tmp_path, (1111, 2222))
    log = tmp_path / "log"
    process = processes.spawn([sys.executable, "-c", TITLED], environment, log)
    try:
        while b"ready" not in log.read_bytes():
            assert process.poll() is None, log.read_text()
        title = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        assert title.startswith(b"ray::DashboardAgent")
        assert [found.pid for found in processes.tagged(CLUSTER_TAG, name)] == [process.pid]
        assert processes.end(CLUSTER_TAG, name) == []
        assert process.wait(5) == -15
    finally:
        process.kill()
        process.wait()
