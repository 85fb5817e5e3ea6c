"""A configuration that is given is judged as vLLM would run it, with its own defaults."""

from datetime import date

import pytest

from infra.catalogue.gpus import find_gpu
from infra.catalogue.models import catalogued_models
from infra.catalogue.offers import catalogued_offers
from infra.errors import PlanRefused
from infra.planner.ask import Limits, Request, quote
from infra.planner.judge import Given, judge
from infra.planner.workload import Workload

MODELS = catalogued_models()
QWEN_7B = MODELS["Qwen/Qwen2.5-VL-7B-Instruct"]
QWEN_32B = MODELS["Qwen/Qwen2.5-VL-32B-Instruct"]
WORK = Workload(1000, ((1920, 1080),))
OFFERS = catalogued_offers()


def judged(given=None, spec=QWEN_7B, gpu="H100", quantization=None, offers=OFFERS):
    asked = given or Given()
    stored = quantization or spec.quantization
    return judge(spec, stored, WORK, find_gpu(gpu), asked, offers)


def test_what_is_not_given_is_vllms_own_default():
    engine = judged().choice.engine
    assert (engine.max_num_batched_tokens, engine.max_num_seqs) == (16_384, 1024)
    assert (engine.max_model_len, engine.utilization) == (128_000, 0.92)
    assert (engine.videos, engine.eager) == (0, False)


def test_what_is_given_is_taken_as_it_is():
    given = Given(2, 0.9, 16_000, 64, 4096, videos=1, eager=True)
    engine = judged(given).choice.engine
    assert (engine.tensor_parallel, engine.utilization, engine.max_model_len) == (2, 0.9, 16_000)
    assert (engine.max_num_seqs, engine.max_num_batched_tokens) == (64, 4096)
    assert (engine.videos, engine.eager) == (1, True)


@pytest.mark.parametrize(
    ("given", "rows", "batched"),
    [
        (Given(max_num_batched_tokens=128), 128, 128),
        (Given(max_num_seqs=2, max_model_len=1000), 2, 2000),
        (Given(max_num_seqs=256, max_num_batched_tokens=512), 256, 512),
    ],
)
def test_vllm_lowers_its_own_defaults_but_nothing_that_was_given(given, rows, batched):
    engine = judged(given).choice.engine
    assert (engine.max_num_seqs, engine.max_num_batched_tokens) == (rows, batched)


def test_what_does_not_fit_has_neither_time_nor_cost():
    choice = judged(spec=QWEN_32B, gpu="L40S").choice
    assert not choice.memory.fits
    assert (choice.offer, choice.duration, choice.cost) == (None, None, None)


def test_what_fits_is_priced_at_the_cheapest_offer_with_such_a_node():
    choice = judged(Given(tensor_parallel=2)).choice
    able = [o for o in OFFERS if o.gpu == "H100" and max(o.gpus_per_node) >= 2]
    assert choice.offer in able
    assert choice.offer.usd_per_hour is not None
    assert choice.nodes == 1
    assert choice.gpus % 2 == 0


def test_without_an_offer_there_is_a_time_and_no_cost():
    choice = judged(offers=()).choice
    assert choice.memory.fits
    assert choice.duration.wall.expected > 0
    assert (choice.offer, choice.cost, choice.usd_per_hour) == (None, None, None)


def test_a_card_of_unknown_speed_is_judged_by_memory_alone():
    choice = judged(gpu="H100-NVL").choice
    assert choice.memory.fits
    assert (choice.duration, choice.cost) == (None, None)


def test_a_tight_fit_is_warned_of():
    quote = judged(Given(max_model_len=8000, max_num_seqs=16), spec=QWEN_32B)
    assert quote.choice.memory.fits
    assert quote.warnings[-1].startswith("too tight: weights with headroom take 78.2 GiB")


def test_a_given_configuration_and_the_choice_of_the_same_settings_agree():
    chosen = quote(Request(QWEN_7B, WORK), Limits(gpus=("H100",)), OFFERS, date(2026, 11, 30))
    engine = chosen.choice.engine
    given = Given(
        engine.tensor_parallel,
        engine.utilization,
        engine.max_model_len,
        engine.max_num_seqs,
        engine.max_num_batched_tokens,
    )
    assert judged(given).choice.engine == engine
    assert judged(given).choice.memory == chosen.choice.memory


def test_a_quantisation_is_taken_literally_and_told_where_vllm_cant_make_it():
    quote = judged(quantization="awq")
    assert "no awq checkpoint" in quote.warnings[0]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"utilization": 0.0}, "utilization: found 0.0; allowed: 0.01 to 1"),
        ({"utilization": 1.1}, "utilization: found 1.1; allowed: 0.01 to 1"),
        ({"max_model_len": 0}, "max-model-len: found 0; allowed: 1 and more"),
        ({"max_num_seqs": -1}, "max-num-seqs: found -1; allowed: 1 and more"),
        ({"max_num_batched_tokens": 0}, "max-num-batched-tokens: found 0; allowed: 1 and more"),
        ({"videos": -1}, "video: found -1; allowed: 0 and more"),
    ],
)
def test_settings_that_no_engine_takes_are_refused_in_one_line(wrong, message):
    with pytest.raises(PlanRefused) as caught:
        Given(**wrong)
    assert str(caught.value) == message


def test_a_context_beyond_the_models_is_refused_with_the_models():
    with pytest.raises(PlanRefused, match=r"^max-model-len: found 200000; allowed: up to 128000, "):
        judged(Given(max_model_len=200_000))


def test_ranks_that_do_not_divide_the_heads_are_refused():
    with pytest.raises(PlanRefused, match=r"^tensor-parallel: 3 can't share 28 attention heads"):
        judged(Given(tensor_parallel=3))
