"""The roofline: arithmetic and bytes of a question, over what a GPU can do."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.catalogue.assumptions import assume
from infra.catalogue.gpus import find_gpu, gpus
from infra.catalogue.models import catalogued_models
from infra.models.parameters import active_linears, count_parameters
from infra.planner.roofline import (
    Roofline,
    demand,
    encoder_flops,
    peak_tflops,
    prefill_flops,
    step_bytes,
)

MODELS = catalogued_models()
QWEN_7B = MODELS["Qwen/Qwen2.5-VL-7B-Instruct"]
QWEN3_8B = MODELS["Qwen/Qwen3-VL-8B-Instruct"]
MIXTURE = MODELS["Qwen/Qwen3-VL-30B-A3B-Instruct"]
INTERNVL = MODELS["OpenGVLab/InternVL3-8B"]
H100, A100, L40S = find_gpu("H100"), find_gpu("A100-80"), find_gpu("L40S")
models = st.sampled_from(sorted(MODELS)).map(MODELS.__getitem__)
timed = st.sampled_from([gpu for gpu in gpus().values() if gpu.timed])
NEED = demand(QWEN_7B, 10_764, 1, 2949, 256)


def test_two_operations_a_parameter_and_token_and_attention_on_top():
    linear = 2 * active_linears(QWEN_7B.decoder) * 1000
    assert prefill_flops(QWEN_7B, 1000) == linear + 2 * 28 * 3584 * 1000**2


def test_an_encoder_without_windows_attends_to_its_whole_tile():
    flops = encoder_flops(QWEN3_8B, 4096, 1)
    linear = 2 * count_parameters(QWEN3_8B).encoder * 4096
    assert flops == linear + 4 * 27 * 1152 * 4096 * 4096
    assert encoder_flops(INTERNVL, 4096, 4) < encoder_flops(INTERNVL, 4096, 1)


def test_windows_spare_most_of_qwen2_5s_attention():
    linear = 2 * count_parameters(QWEN_7B).encoder * 16_384
    windowed = encoder_flops(QWEN_7B, 16_384, 1) - linear
    assert windowed == pytest.approx(4 * 32 * 1280 * 16_384 * (28 * 64 + 4 * 16_384) / 32)


@given(models, st.integers(1, 60_000), st.integers(0, 60_000))
def test_more_patches_or_tokens_never_mean_less_arithmetic(spec, some, more):
    assert encoder_flops(spec, some, 1) <= encoder_flops(spec, some + more, 1)
    assert prefill_flops(spec, some) <= prefill_flops(spec, some + more)


def test_a_step_reads_every_weight_once_and_the_cache_of_each_sequence():
    one, many = (step_bytes(QWEN_7B, "none", 1, batch, 1000) for batch in (1, 65))
    assert many - one == 64 * 1000 * 57_344
    head = QWEN_7B.decoder.vocab * QWEN_7B.decoder.hidden * 2
    assert one - 1000 * 57_344 == 2 * count_parameters(QWEN_7B).linears + head


def test_experts_at_rest_are_not_read():
    alone, full = (step_bytes(MIXTURE, "none", 1, batch, 0) for batch in (1, 4096))
    assert alone < full / 5
    assert full == pytest.approx(
        2 * count_parameters(MIXTURE).linears + MIXTURE.decoder.vocab * 2048 * 2, rel=1e-3
    )


@given(timed, st.integers(1, 512))
def test_the_slow_case_is_never_faster_than_the_expected_nor_that_than_the_fast(gpu, batch):
    line = Roofline(QWEN_7B, gpu, "none", 1)
    low, expected, high = (line.question_s(NEED, batch, c) for c in ("low", "expected", "high"))
    assert low > expected > high > 0


@given(timed, st.integers(1, 512))
def test_holding_more_questions_at_once_never_makes_one_slower(gpu, batch):
    line = Roofline(QWEN_7B, gpu, "none", 1)
    fewer, more = (line.question_s(NEED, n, "expected") for n in (batch, batch + 1))
    assert more <= fewer * (1 + 1e-9)


@given(timed, st.sampled_from([1, 2, 4]))
def test_twice_the_ranks_are_faster_but_never_twice(gpu, ranks):
    fewer, more = (Roofline(QWEN_7B, gpu, "none", n).flops("expected") for n in (ranks, 2 * ranks))
    assert fewer < more < 2 * fewer


def test_cards_without_nvlink_lose_more_by_sharing():
    kept = [
        Roofline(QWEN_7B, replace(H100, nvlink=joined), "none", 2).flops("expected")
        for joined in (True, False, None)
    ]
    assert kept[0] > kept[1] == kept[2]


def test_the_expected_flops_are_the_peak_times_what_is_assumed():
    share = assume("compute_efficiency", "expected")
    assert Roofline(QWEN_7B, H100, "none", 1).flops("expected") == pytest.approx(989e12 * share)


def test_fp8_is_faster_where_the_card_computes_in_it_and_awq_computes_at_16_bits():
    assert peak_tflops(H100, "fp8") == 1978
    assert peak_tflops(A100, "fp8") == peak_tflops(A100, "none") == 312
    assert peak_tflops(H100, "awq") == 989


def test_decoding_one_sequence_is_bound_by_memory():
    line = Roofline(QWEN_7B, L40S, "none", 1)
    read = step_bytes(QWEN_7B, "none", 1, 1, 1000)
    assert line.step_s(1, 1000, "expected") == read / line.bytes_per_s("expected")
