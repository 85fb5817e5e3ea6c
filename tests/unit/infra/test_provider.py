"""The autoscaler's provider: nodes appear, are tagged, go, and are no more when they keep dying."""

import errno
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from infra.clusters.local import processes, signs
from infra.clusters.local.autoscaling import HEAD_TYPE, NODE_TYPE
from infra.clusters.local.processes import NODE_TAG
from infra.clusters.local.registry import Registry

pytest.importorskip("ray.autoscaler")

from infra.clusters.local.provider import HEAD_ID, MAX_CRASHES, LocalNodeProvider

TAGS = {"ray-node-type": "worker", "ray-user-node-type": NODE_TYPE}


@dataclass
class Raylet:
    """Stands for a node's process; `status` is what it ended with."""

    command: Sequence[str]
    environment: Mapping[str, str]
    status: int | None = None

    def poll(self) -> int | None:
        return self.status

    @property
    def returncode(self) -> int | None:
        return self.status

    def wait(self) -> int | None:
        return self.status


@dataclass
class Machine:
    """Stands for this machine's processes; `stuck` ones do not end."""

    raylets: list[Raylet] = field(default_factory=list)
    ended: list[tuple[str, str]] = field(default_factory=list)
    stuck: bool = False

    def spawn(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> Raylet:
        self.raylets.append(Raylet(command, environment))
        return self.raylets[-1]

    def end(self, tag: str, value: str) -> list[object]:
        self.ended.append((tag, value))
        for raylet in self.raylets:
            if raylet.environment[tag] == value and not self.stuck:
                raylet.status = -15
        return [Stuck()] if self.stuck else []


class Stuck:
    pid = 4711


@pytest.fixture
def machine(monkeypatch) -> Machine:
    machine = Machine()
    monkeypatch.setattr(processes, "spawn", machine.spawn)
    monkeypatch.setattr(processes, "end", machine.end)
    return machine


@pytest.fixture
def provider(machine: Machine, tmp_path: Path) -> LocalNodeProvider:
    return make_provider(tmp_path)


def make_provider(folder: Path) -> LocalNodeProvider:
    config = {"folder": str(folder), "head_address": "127.0.0.1:6399", "cpus": 2, "notice_s": 30.0}
    return LocalNodeProvider(config, "job-1")


def nodes(provider: LocalNodeProvider) -> list[str]:
    return provider.non_terminated_nodes({"ray-node-type": "worker"})


def launch(provider: LocalNodeProvider) -> None:
    """A node that the autoscaler has seen."""
    provider.create_node({}, TAGS, 1)
    nodes(provider)


def test_before_anything_was_asked_there_is_the_head_alone(provider):
    assert provider.non_terminated_nodes({}) == [HEAD_ID]
    assert provider.node_tags(HEAD_ID) == {"ray-node-type": "head", "ray-user-node-type": HEAD_TYPE}
    assert provider.is_running(HEAD_ID)


def test_a_node_appears_with_its_tags_and_its_address(provider):
    launch(provider)
    assert nodes(provider) == ["job-1-n1"]
    assert provider.node_tags("job-1-n1") == TAGS
    assert provider.internal_ip("job-1-n1") == provider.external_ip("job-1-n1") == "127.0.0.1"
    assert provider.is_running("job-1-n1")


def test_a_node_is_a_raylet_that_joins_the_head_and_carries_its_tag(provider, machine):
    launch(provider)
    raylet = machine.raylets[0]
    assert "--address=127.0.0.1:6399" in raylet.command
    assert raylet.environment[NODE_TAG] == "job-1-n1"
    assert raylet.environment["RAY_NODE_TYPE_NAME"] == NODE_TYPE
    assert raylet.environment["RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S"] == "30"


def test_several_nodes_have_names_of_their_own_that_are_never_used_again(provider):
    provider.create_node({}, TAGS, 2)
    provider.terminate_node("job-1-n1")
    launch(provider)
    assert nodes(provider) == ["job-1-n2", "job-1-n3"]


def test_tags_can_be_set_and_filtered_by(provider):
    provider.create_node({}, TAGS, 2)
    provider.set_node_tags("job-1-n2", {"ray-node-status": "up-to-date"})
    assert provider.non_terminated_nodes({"ray-node-status": "up-to-date"}) == ["job-1-n2"]
    provider.set_node_tags(HEAD_ID, {"ray-node-status": "up-to-date"})
    assert provider.non_terminated_nodes({"ray-node-status": "up-to-date"}) == ["job-1-n2"]


def test_a_terminated_node_is_ended_by_its_tag_and_gone(provider, machine):
    provider.create_node({}, TAGS, 2)
    provider.terminate_nodes(["job-1-n1"])
    assert machine.ended == [(NODE_TAG, "job-1-n1")]
    assert nodes(provider) == ["job-1-n2"]
    assert provider.is_terminated("job-1-n1")


def test_a_node_that_was_ended_on_purpose_is_no_crash(provider):
    for number in range(1, MAX_CRASHES + 3):
        launch(provider)
        provider.terminate_node(f"job-1-n{number}")
        assert nodes(provider) == []
    launch(provider)
    assert len(nodes(provider)) == 1


def test_a_node_that_does_not_end_is_not_called_gone(provider, machine):
    launch(provider)
    machine.stuck = True
    with pytest.raises(RuntimeError, match=r"job-1-n1 did not end: \[4711\]"):
        provider.terminate_node("job-1-n1")
    assert nodes(provider) == ["job-1-n1"]


def test_a_node_that_did_not_end_at_first_can_be_ended_later(provider, machine):
    launch(provider)
    machine.stuck = True
    with pytest.raises(RuntimeError):
        provider.terminate_node("job-1-n1")
    machine.stuck = False
    provider.terminate_node("job-1-n1")
    assert nodes(provider) == []


def test_a_node_whose_raylet_died_is_gone_and_its_remains_with_it(provider, machine):
    launch(provider)
    machine.raylets[0].status = 1
    assert nodes(provider) == []
    assert provider.is_terminated("job-1-n1")
    assert machine.ended == [(NODE_TAG, "job-1-n1")]


def test_a_node_that_died_at_once_is_seen_before_it_is_gone(provider, machine):
    """Ray's autoscaler waits ten minutes for a node that it asked for and never saw."""
    provider.create_node({}, TAGS, 1)
    machine.raylets[0].status = -9
    first, second = (provider.non_terminated_nodes({}) for _ in range(2))
    assert len(first) == 2
    assert second == [HEAD_ID]


def test_nodes_that_keep_dying_stop_further_launches(provider, machine):
    for _ in range(MAX_CRASHES):
        launch(provider)
        machine.raylets[-1].status = 1
        assert nodes(provider) == []
    with pytest.raises(RuntimeError, match="3 nodes died unasked: no more are launched"):
        launch(provider)
    assert len(machine.raylets) == MAX_CRASHES


def test_another_provider_on_the_same_folder_sees_the_same_nodes(provider, tmp_path):
    launch(provider)
    other = make_provider(tmp_path)
    assert nodes(other) == ["job-1-n1"]
    other.terminate_node("job-1-n1")
    assert provider.is_terminated("job-1-n1")


def test_a_machine_that_is_full_has_no_capacity_and_leaves_no_node_behind(provider, monkeypatch):
    def full(command, environment, log):
        raise OSError("Cannot allocate memory")

    monkeypatch.setattr(processes, "spawn", full)
    with pytest.raises(RuntimeError, match="no_capacity: Cannot allocate memory"):
        launch(provider)
    assert nodes(provider) == []


def test_the_controller_can_read_why_no_more_nodes_come(provider, machine, tmp_path):
    registry = Registry(tmp_path / "nodes")
    assert registry.refusal() == ""
    for _ in range(MAX_CRASHES):
        launch(provider)
        machine.raylets[-1].status = 1
        nodes(provider)
    with pytest.raises(RuntimeError):
        launch(provider)
    assert registry.refusal() == "3 nodes died unasked: no more are launched"
    assert len(registry.all()) == MAX_CRASHES


def test_a_node_has_joined_when_it_says_so(provider, tmp_path):
    launch(provider)
    registry = Registry(tmp_path / "nodes")
    assert registry.get("job-1-n1").joined_at is None
    signs.give(registry.signs_of("job-1-n1"), signs.JOINED)
    provider.terminate_node("job-1-n1")
    node = registry.get("job-1-n1").interval()
    assert node.launched_at <= node.joined_at <= node.left_at <= node.gone_at
    assert not node.preempted


def test_the_node_is_told_where_to_leave_its_signs(provider, machine, tmp_path):
    launch(provider)
    assert str(Registry(tmp_path / "nodes").signs_of("job-1-n1")) in machine.raylets[0].command


@pytest.mark.parametrize(("noted", "status"), [(True, 1), (False, -15), (True, -9)])
def test_a_node_that_was_given_notice_is_preempted_and_no_crash(
    provider, machine, tmp_path, noted, status
):
    registry = Registry(tmp_path / "nodes")
    for number in range(1, MAX_CRASHES + 2):
        launch(provider)
        if noted:
            signs.give(registry.signs_of(f"job-1-n{number}"), signs.NOTICE)
        machine.raylets[-1].status = status
        assert nodes(provider) == []
    assert all(entry.preempted for entry in registry.all())
    assert all(entry.left_at <= entry.gone_at for entry in registry.all())


def test_a_node_that_we_end_ourselves_is_not_preempted_though_it_sees_the_same_signal(
    provider, machine, tmp_path
):
    registry = Registry(tmp_path / "nodes")
    launch(provider)
    machine.stuck = True
    with pytest.raises(RuntimeError):
        provider.terminate_node("job-1-n1")
    signs.give(registry.signs_of("job-1-n1"), signs.NOTICE)
    provider.non_terminated_nodes({})
    assert not registry.get("job-1-n1").preempted


def test_a_node_that_died_unasked_never_left(provider, machine, tmp_path):
    launch(provider)
    machine.raylets[0].status = 1
    nodes(provider)
    entry = Registry(tmp_path / "nodes").get("job-1-n1")
    assert (entry.left_at, entry.preempted) == (None, False)


@pytest.mark.parametrize("where", [(processes, "spawn"), (Registry, "add")])
def test_a_full_disk_is_no_capacity_and_is_named(provider, monkeypatch, tmp_path, where):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(*where, full)
    words = f"no_capacity: no space left on {tmp_path}"
    with pytest.raises(RuntimeError, match=words):
        launch(provider)
    assert Registry(tmp_path / "nodes").refusal() == words
    assert nodes(provider) == []


def test_a_full_disk_that_can_not_even_hold_the_words_is_said_all_the_same(provider, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Registry, "add", full)
    monkeypatch.setattr(Registry, "refuse", full)
    with pytest.raises(RuntimeError, match="no_capacity: no space left on"):
        launch(provider)
