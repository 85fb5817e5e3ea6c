"""A start that never completes ends with the phase that it hung in."""

import pytest

from infra.clusters.base import NodeInterval
from infra.errors import NoCapacity, StartFailed
from jobs.clusters.starting import Deadlines, check_start

DEADLINES = Deadlines(node_s=60, engine_s=600)


def check(nodes=(), refusal="", now=0.0, since=0.0):
    check_start(nodes, since, refusal, now, DEADLINES)


def test_within_its_deadlines_a_start_is_waited_for():
    check(now=60)
    check([NodeInterval("n1", 50, None)], now=650)


def test_a_node_that_never_comes_is_named():
    with pytest.raises(StartFailed, match="phase node: no node came within 60 s"):
        check(now=61)


def test_an_engine_that_never_answers_is_named_counted_from_its_nodes_launch():
    with pytest.raises(StartFailed, match="phase engine: no engine was ready within 600 s"):
        check([NodeInterval("n1", 50, None)], now=651)


def test_on_a_warm_cluster_the_engine_is_waited_for_from_the_jobs_beginning():
    check([NodeInterval("n1", 0, None)], now=5600, since=5000)
    with pytest.raises(StartFailed, match="phase engine"):
        check([NodeInterval("n1", 0, None)], now=5601, since=5000)


def test_a_provider_without_a_node_to_give_is_no_capacity_at_once():
    with pytest.raises(NoCapacity, match="phase node: no_capacity: none left"):
        check(refusal="no_capacity: none left", now=1)


def test_nodes_that_keep_dying_are_no_lack_of_capacity():
    with pytest.raises(StartFailed, match="3 nodes died") as caught:
        check(refusal="3 nodes died unasked", now=1)
    assert not isinstance(caught.value, NoCapacity)


def test_with_one_node_of_two_the_job_goes_on():
    check([NodeInterval("n1", 0, None)], refusal="no_capacity: one is all", now=1)


def test_a_node_that_is_gone_is_no_node():
    with pytest.raises(StartFailed, match="phase node"):
        check([NodeInterval("n1", 0, 30)], now=61)
