"""The autoscaling configuration: valid for Ray, one kind of node, no work on the head."""

import importlib
import json
from pathlib import Path

import pytest

from infra.clusters.base import ClusterSpec
from infra.clusters.local.autoscaling import HEAD_TYPE, NODE_TYPE, config, write_config

SPEC = ClusterSpec("job-1", max_nodes=3, cpus=2, idle_s=6)


@pytest.fixture
def written(tmp_path: Path) -> dict:
    path = tmp_path / "autoscaling.json"
    write_config(path, SPEC, tmp_path, "127.0.0.1:6399")
    return json.loads(path.read_text())


def test_what_is_written_is_json_and_nothing_is_lost(written, tmp_path):
    assert written == config(SPEC, tmp_path, "127.0.0.1:6399")


def test_the_head_takes_no_work(written):
    head = written["available_node_types"][HEAD_TYPE]
    assert head["resources"] == {}
    assert head["max_workers"] == 0
    assert written["head_node_type"] == HEAD_TYPE


def test_there_is_one_kind_of_node_and_none_of_it_at_rest(written):
    kinds = set(written["available_node_types"]) - {HEAD_TYPE}
    assert kinds == {NODE_TYPE}
    node = written["available_node_types"][NODE_TYPE]
    assert (node["min_workers"], node["max_workers"]) == (0, SPEC.max_nodes)
    assert node["resources"] == {"CPU": 2, "zeroshift_engine": 1}


def test_no_more_nodes_than_were_planned(written):
    assert written["max_workers"] == 3


def test_idle_nodes_go_after_the_time_that_was_set(written):
    assert written["idle_timeout_minutes"] * 60 == pytest.approx(6)


def test_the_provider_that_it_names_can_be_imported(written):
    module, _, name = written["provider"]["module"].rpartition(".")
    pytest.importorskip("ray")
    assert hasattr(getattr(importlib.import_module(module), name), "create_node")


def test_ray_itself_accepts_it(written):
    util = pytest.importorskip("ray.autoscaler._private.util")
    assert util.validate_config(written) is None
    with pytest.raises(Exception, match="no_such_field"):  # it does look
        util.validate_config({**written, "no_such_field": 1})
