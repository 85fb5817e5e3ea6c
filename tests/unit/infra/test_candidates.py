"""One offer, judged: the fewest ranks that fit, and the cheapest nodes that meet the deadline."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.catalogue.gpus import find_gpu
from infra.catalogue.models import catalogued_models
from infra.catalogue.offers import Offer
from infra.planner.candidates import Judge, Unfit, Wish, node_size
from infra.planner.measured import Measured
from infra.planner.workload import Workload, tokens_of

MODELS = catalogued_models()
QWEN_7B = MODELS["Qwen/Qwen2.5-VL-7B-Instruct"]
QWEN_72B = MODELS["Qwen/Qwen2.5-VL-72B-Instruct"]
H100 = find_gpu("H100")
OFFER = Offer(
    name="a/h100",
    provider="A",
    cpus=None,
    max_nodes=64,
    usd_per_hour=Decimal("3.60"),
    granularity_s=1,
    minimum_s=0,
    dated="2026-11-01",
    gpu="H100",
    gpus=1,
    gpus_per_node=(1, 2, 4, 8),
)


def judge(spec=QWEN_7B, images=1000, deadline_s=None, spot=False, **work):
    job = Workload(images, ((1920, 1080),), **work)
    return Judge(spec, "none", job, tokens_of(spec, job), Wish(deadline_s, spot))


def best(offer=OFFER, known=None, gpu=H100, **asked):
    return judge(**asked).best(offer, gpu, known)


def refusal(offer=OFFER, known=None, gpu=H100, **asked):
    with pytest.raises(Unfit) as caught:
        best(offer, known, gpu, **asked)
    return str(caught.value)


def test_a_job_without_a_deadline_takes_one_node():
    found = best(images=10**6)
    assert (found.nodes, found.gpus, found.replicas, found.tensor_parallel) == (1, 1, 1, 1)


def test_the_fewest_ranks_that_leave_headroom_are_taken():
    found = best(spec=QWEN_72B)
    assert (found.tensor_parallel, found.gpus, found.replicas) == (4, 4, 1)
    assert not found.memory.tight


def test_a_larger_node_than_one_engine_needs_runs_more_of_them():
    found = best(replace(OFFER, gpus=8, gpus_per_node=(8,)), spec=QWEN_72B)
    assert (found.gpus, found.replicas, found.tensor_parallel) == (8, 2, 4)


def test_the_price_is_of_the_nodes_size():
    offer = replace(OFFER, gpus=8, usd_per_hour=Decimal(32))
    assert best(offer, spec=QWEN_72B).usd_per_hour == Decimal(16)
    assert [node_size(OFFER, ranks) for ranks in (1, 2, 3, 8)] == [1, 2, 4, 8]


def test_a_deadline_is_met_at_the_slow_end_by_more_nodes():
    found = best(images=50_000, deadline_s=3600)
    assert found.nodes > 1
    assert found.duration.wall.high <= 3600
    assert found.replicas == found.nodes


def test_where_a_meter_runs_in_hours_more_nodes_can_be_cheaper():
    """Two nodes of 62 minutes are billed four hours, three of 42 minutes three."""
    rate = 7200 / (1000 * judge().tokens.sequence)
    known = Measured(2, rate, rate, rate, 100.0, 200.0)
    by_second = best(known=known, deadline_s=5000)
    by_hour = best(replace(OFFER, granularity_s=3600), known, deadline_s=5000)
    assert (by_second.nodes, by_hour.nodes) == (2, 3)
    assert by_hour.cost.billed_s == 3 * 3600


def test_a_deadline_that_no_number_of_nodes_meets_is_said_with_the_nodes_tried():
    reason = refusal(replace(OFFER, max_nodes=3), images=10**6, deadline_s=1000)
    assert reason.startswith("misses the deadline: ")
    assert reason.endswith(" s at the slow end, nodes: 3")


def test_more_nodes_than_pictures_are_never_tried():
    assert refusal(images=2, deadline_s=10).endswith(", nodes: 2")


@settings(deadline=None)
@given(
    st.integers(1, 200_000),
    st.integers(0, 50_000),
    st.sampled_from([1, 60, 3600, None]),
    st.sampled_from([0, 300]),
    st.sampled_from([None, 1800, 3600, 10_000]),
    st.sampled_from([None, Measured(2, 1e-5, 2e-5, 4e-5, 100.0, 200.0)]),
)
def test_more_images_never_cost_less(images, more, step, least, deadline_s, known):
    offer = replace(OFFER, granularity_s=step, minimum_s=least)
    try:
        larger = best(offer, known, images=images + more, deadline_s=deadline_s)
    except Unfit:
        return
    smaller = best(offer, known, images=images, deadline_s=deadline_s)
    assert smaller.cost.usd <= larger.cost.usd


@settings(deadline=None)
@given(
    st.integers(1, 100_000),
    st.sampled_from([1, 60, 3600, None]),
    st.integers(700, 40_000),
    st.sampled_from([None, Decimal("0.5")]),
)
def test_a_deadline_never_makes_it_cheaper(images, step, deadline_s, discount):
    offer = replace(OFFER, granularity_s=step, async_discount=discount)
    try:
        hurried = best(offer, images=images, deadline_s=deadline_s)
    except Unfit:
        return
    assert best(offer, images=images).cost.usd <= hurried.cost.usd


def test_only_a_job_that_may_wait_gets_the_discount_for_it():
    offer = replace(OFFER, async_discount=Decimal("0.5"))
    assert best(offer).usd_per_hour == Decimal("1.80")
    assert best(offer, deadline_s=10_000).usd_per_hour == Decimal("3.60")


def test_an_unknown_price_makes_a_candidate_without_a_cost_in_usd():
    found = best(replace(OFFER, usd_per_hour=None), deadline_s=10_000)
    assert found.cost.usd is None
    assert found.cost.billed_s > 0


def test_a_batch_is_what_the_cache_holds_within_the_limit():
    found = best(concurrency=4)
    assert found.batch == found.engine.max_num_seqs == 4
    many = judge()
    found = many.best(OFFER, H100, None)
    assert found.batch == min(256, found.memory.kv_tokens // many.tokens.sequence)


def test_what_earlier_jobs_measured_decides_the_time():
    known = Measured(4, 0.001, 0.002, 0.004, 100.0, 200.0)
    assert best(known=known).duration.basis == "measured by 4 earlier jobs"


@pytest.mark.parametrize(
    ("gpu", "asked", "reason"),
    [
        (replace(H100, bandwidth_gbs=None), {}, "speed of H100 is unknown: no time can be told"),
        (
            replace(H100, total_gib=None, reported_mib=None, nominal_gib=None),
            {},
            "memory of H100 is unknown",
        ),
        (H100, {"spot": True}, "spot price is unknown"),
    ],
)
def test_what_is_unknown_is_a_reason_not_a_guess(gpu, asked, reason):
    assert refusal(gpu=gpu, **asked) == reason


def test_what_does_not_fit_says_what_it_needs():
    reason = refusal(replace(OFFER, gpus_per_node=(1,)), spec=QWEN_72B)
    assert reason.startswith("does not fit: needs 158.3 GiB, has 79.2")
