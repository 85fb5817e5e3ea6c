"""The local provider's record of its nodes: what the bill of a local job is made of."""

import json

import pytest

from infra.clusters.base import NodeInterval
from infra.clusters.local import registry
from infra.clusters.local.registry import Registry


class Clock:
    """Seconds since the epoch, one more at each look."""

    now = 1000.0

    def time(self) -> float:
        self.now += 1
        return self.now


@pytest.fixture
def nodes(tmp_path, monkeypatch) -> Registry:
    monkeypatch.setattr(registry, "time", Clock())
    return Registry(tmp_path / "nodes")


def test_a_node_that_lives_has_an_open_interval(nodes):
    nodes.add("n1", {})
    assert nodes.get("n1").interval() == NodeInterval("n1", 1001.0, None)
    assert [entry.node_id for entry in nodes.living()] == ["n1"]


def test_an_entry_outlives_its_node_so_that_it_can_be_billed(nodes):
    nodes.add("n1", {})
    nodes.gone("n1")
    assert nodes.living() == []
    assert [entry.interval() for entry in nodes.all()] == [NodeInterval("n1", 1001.0, 1002.0)]


def test_going_twice_changes_nothing(nodes):
    nodes.add("n1", {"a": "1"})
    nodes.gone("n1")
    before = nodes.get("n1")
    nodes.gone("n1")
    assert nodes.get("n1") == before


def test_nodes_are_in_the_order_of_launch_and_not_of_name(nodes):
    for name in ("n9", "n10", "n1"):
        nodes.add(name, {})
    assert [entry.node_id for entry in nodes.all()] == ["n9", "n10", "n1"]


def test_tags_are_added_to_and_replaced_by_name(nodes):
    nodes.add("n1", {"kind": "worker", "status": "new"})
    nodes.tag("n1", {"status": "up", "more": "x"})
    assert nodes.get("n1").tags == {"kind": "worker", "status": "up", "more": "x"}
    assert nodes.get("n1").launched_at == 1001.0


def test_a_tag_does_not_bring_a_node_back_to_life(nodes):
    nodes.add("n1", {})
    nodes.gone("n1")
    nodes.tag("n1", {"status": "late"})
    assert nodes.get("n1").gone_at == 1002.0


def test_the_tags_that_were_given_are_not_shared(nodes):
    tags = {"a": "1"}
    nodes.add("n1", tags)
    tags["a"] = "2"
    assert nodes.get("n1").tags == {"a": "1"}


def test_another_reader_of_the_folder_sees_the_same(nodes, tmp_path):
    nodes.add("n1", {"a": "1"})
    assert Registry(tmp_path / "nodes").all() == nodes.all()


def test_a_half_written_entry_is_never_read(nodes, tmp_path):
    nodes.add("n1", {})
    (tmp_path / "nodes" / "n2.999.draft").write_text('{"node_id": "n2", "laun')
    assert [entry.node_id for entry in nodes.all()] == ["n1"]


def test_no_drafts_stay_behind(nodes, tmp_path):
    nodes.add("n1", {})
    nodes.gone("n1")
    files = list((tmp_path / "nodes").iterdir())
    assert [file.name for file in files] == ["n1.json"]
    assert json.loads(files[0].read_text())["gone_at"] == 1002.0


def test_looking_leaves_no_trace(nodes, tmp_path):
    assert nodes.all() == []
    assert list(tmp_path.iterdir()) == []
