"""The local provider's record of its nodes: what the bill of a local job is made of."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.clusters.base import NodeInterval
from infra.clusters.local import registry, signs
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


def moments(entry: registry.NodeEntry) -> list[float]:
    known = (entry.launched_at, entry.joined_at, entry.left_at, entry.gone_at)
    return [moment for moment in known if moment is not None]


STEPS = ("joined", "notice", "leaving", "preempted", "gone", "tag")


@given(steps=st.lists(st.tuples(st.sampled_from(STEPS), st.floats(0, 2e9)), max_size=8))
def test_a_nodes_moments_are_in_order_whatever_happens_and_however_the_clock_is_set(
    steps, tmp_path_factory
):
    clock = Clock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "time", clock)
        patch.setattr(signs, "time", clock)
        nodes = Registry(tmp_path_factory.mktemp("nodes"))
        nodes.add("n1", {})
        for step, clock.now in steps:
            if step in signs.ALL:
                signs.give(nodes.signs_of("n1"), step)
            elif step == "tag":
                nodes.tag("n1", {"a": "1"})
            else:
                getattr(nodes, step)("n1")
            known = moments(nodes.get("n1"))
            assert all(before <= after for before, after in pairwise(known))
        assert not nodes.get("n1").preempted or nodes.get("n1").left_at is not None


def test_a_notice_is_when_the_node_left_and_whose_wish_it_was(nodes):
    nodes.add("n1", {})
    signs.give(nodes.signs_of("n1"), signs.NOTICE)
    noted = nodes.get("n1")
    nodes.leaving("n1")
    nodes.gone("n1")
    ended = nodes.get("n1")
    assert noted.preempted
    assert (ended.preempted, ended.left_at) == (True, noted.left_at)


def test_a_notice_after_we_asked_for_the_end_is_none(nodes):
    nodes.add("n1", {})
    nodes.leaving("n1")
    signs.give(nodes.signs_of("n1"), signs.NOTICE)
    assert nodes.get("n1").interval() == NodeInterval("n1", 1001.0, None, left_at=1002.0)


def test_the_first_of_two_equal_signs_holds(nodes):
    nodes.add("n1", {})
    signs.give(nodes.signs_of("n1"), signs.JOINED)
    first = signs.read(nodes.signs_of("n1"), signs.JOINED)
    signs.give(nodes.signs_of("n1"), signs.JOINED)
    assert signs.read(nodes.signs_of("n1"), signs.JOINED) == first


def test_an_entry_of_an_older_release_can_be_read(nodes, tmp_path):
    nodes.add("n1", {})
    old = {"node_id": "n1", "launched_at": 1.0, "gone_at": 2.0, "tags": {}}
    (tmp_path / "nodes" / "n1.json").write_text(json.dumps(old))
    assert nodes.get("n1").interval() == NodeInterval("n1", 1.0, 2.0)


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
