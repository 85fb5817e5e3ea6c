"""Seconds of a job: start, work and rest, each a range, and what replaces the assumptions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.catalogue.assumptions import assume
from infra.catalogue.gpus import find_gpu
from infra.catalogue.models import catalogued_models
from infra.planner.duration import Engines, duration
from infra.planner.measured import Measured
from infra.planner.weights import weigh
from infra.planner.workload import Workload, tokens_of

MODELS = catalogued_models()
QWEN_7B = MODELS["Qwen/Qwen2.5-VL-7B-Instruct"]
H100 = find_gpu("H100")
KNOWN = Measured(3, 0.001, 0.002, 0.004, 100.0, 200.0)


def took(images=1000, replicas=1, known=None, size=(1920, 1080), batch=64):
    work = Workload(images, (size,))
    on = Engines(QWEN_7B, H100, "none", 1, replicas, batch)
    return duration(on, work, tokens_of(QWEN_7B, work), known)


def ends(span):
    return (span.low, span.expected, span.high)


@given(st.integers(1, 10**6), st.integers(1, 64), st.sampled_from([None, KNOWN]))
def test_what_is_expected_lies_within_its_range(images, replicas, known):
    found = took(images, replicas, known)
    for span in (found.start, found.work, found.rest, found.wall, found.node):
        assert 0 < span.low <= span.expected <= span.high


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.sampled_from([None, KNOWN]))
def test_more_images_never_take_less_time(images, more, known):
    fewer, longer = took(images, known=known), took(images + more, known=known)
    assert all(a <= b for a, b in zip(ends(fewer.work), ends(longer.work), strict=True))


@given(st.integers(1, 64), st.sampled_from([None, KNOWN]))
def test_sharing_a_job_out_is_the_same_as_planning_it_shared_out(nodes, known):
    shared, planned = took(known=known).over(nodes), took(replicas=nodes, known=known)
    assert ends(shared.work) == pytest.approx(ends(planned.work))
    assert (shared.start, shared.rest, shared.basis) == (
        planned.start,
        planned.rest,
        planned.basis,
    )


def test_larger_pictures_take_longer():
    assert took(size=(3840, 2160)).work.expected > 3 * took(size=(1920, 1080)).work.expected


def test_a_node_is_paid_from_its_start_until_it_is_gone():
    found = took()
    assert found.wall.expected == found.start.expected + found.work.expected
    assert found.node.high == found.wall.high + found.rest.high


def test_a_start_is_boot_load_and_engine_and_the_slow_end_the_slow_case():
    stored = weigh(QWEN_7B, "none", 1, 0).total
    for case, seconds in zip(("high", "expected", "low"), ends(took().start), strict=True):
        load = stored / (assume("load_gbs", case) * 1e9)
        assert seconds == pytest.approx(assume("boot_s", case) + load + assume("engine_s", case))


def test_earlier_jobs_replace_what_is_assumed_and_are_named():
    found, work = took(known=KNOWN), Workload(1000, ((1920, 1080),))
    tokens = tokens_of(QWEN_7B, work).sequence * 1000
    assert ends(found.work) == pytest.approx((0.001 * tokens, 0.002 * tokens, 0.004 * tokens))
    assert ends(found.start) == (100.0, 100.0, 100.0)
    assert found.basis == "measured by 3 earlier jobs"
    assert took().basis == "roofline with assumed efficiencies"
