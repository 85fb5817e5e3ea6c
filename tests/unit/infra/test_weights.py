"""Weights in bytes: by quantisation, by rank, with the buffers that vLLM loads beside them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.catalogue.models import catalogued_models
from infra.errors import PlanRefused
from infra.models.parameters import count_parameters
from infra.planner.sizes import GIB
from infra.planner.weights import (
    check_parallel,
    check_quantization,
    divides,
    encoder_shares,
    linear_bytes,
    quantization_notes,
    replicated_heads,
    weigh,
)

MODELS = catalogued_models()
QWEN_7B = MODELS["Qwen/Qwen2.5-VL-7B-Instruct"]
QWEN_72B = MODELS["Qwen/Qwen2.5-VL-72B-Instruct"]
QWEN3_8B = MODELS["Qwen/Qwen3-VL-8B-Instruct"]
INTERNVL_78B = MODELS["OpenGVLab/InternVL3-78B"]
MINICPM = MODELS["openbmb/MiniCPM-V-4_5"]
models = st.sampled_from(sorted(MODELS)).map(MODELS.__getitem__)


def test_at_16_bits_a_checkpoint_takes_two_bytes_a_parameter():
    assert weigh(QWEN_7B, "none", 1, 8192).total == 2 * count_parameters(QWEN_7B).total


@pytest.mark.parametrize(
    ("quantization", "size"),
    [
        ("none", 2 * 2**20),
        ("fp8", 2**20 + 4 * 64),
        ("int8", 2**20 + 4 * 256),
        ("awq", 2**19 + 2**20 * 5 // 256),
    ],
)
def test_linear_layers_take_what_their_format_says_with_its_scales(quantization, size):
    assert linear_bytes(2**20, quantization) == size


def test_quantisation_shrinks_the_decoders_linear_layers_alone():
    whole, small = (weigh(QWEN_7B, each, 1, 8192) for each in ("none", "awq"))
    assert small.linears < whole.linears / 3
    assert (small.encoder, small.embeddings, small.rest) == (
        whole.encoder,
        whole.embeddings,
        whole.rest,
    )


@given(models, st.sampled_from([1, 2, 4, 8, 16]))
def test_more_ranks_never_mean_more_weights_on_each_but_where_heads_are_copied(spec, ranks):
    if not divides(spec, 2 * ranks) or replicated_heads(spec, 2 * ranks):
        return
    fewer, more = (weigh(spec, "none", n, 8192).rank for n in (ranks, 2 * ranks))
    assert more <= fewer


@given(models, st.sampled_from([2, 4, 8]))
def test_ranks_together_hold_at_least_the_whole_checkpoint(spec, ranks):
    if divides(spec, ranks):
        weights = weigh(spec, "none", ranks, 8192)
        assert ranks * weights.rank >= weights.total


def test_copied_kv_heads_are_weighed_on_every_rank():
    decoder = QWEN_7B.decoder
    assert replicated_heads(QWEN_7B, decoder.kv_heads) == 0
    copies = 8 - decoder.kv_heads
    each = 2 * decoder.layers * decoder.hidden * decoder.head_dim * 2
    assert replicated_heads(QWEN_7B, 8) == copies * each


def test_minicpms_encoder_is_whole_on_each_rank():
    assert encoder_shares(MINICPM.encoder, 4) == (1, 1)
    assert weigh(MINICPM, "none", 4, 8192).encoder == weigh(MINICPM, "none", 1, 8192).encoder


def test_attention_of_25_heads_is_whole_on_each_rank_and_the_rest_is_shared():
    encoder = INTERNVL_78B.encoder
    assert (encoder.heads, encoder_shares(encoder, 2)) == (25, (2, 1))
    alone, shared = (weigh(INTERNVL_78B, "none", n, 8192).encoder for n in (1, 2))
    attention = 4 * encoder.hidden**2 * encoder.depth * 2
    assert shared == attention + (alone - attention) // 2


def test_mrope_keeps_four_tables_of_the_longest_sequence():
    weights = weigh(QWEN_7B, "none", 1, 8192)
    assert weights.buffers == 128_000 * 4 * 128 * 2
    assert weights.buffers / GIB == pytest.approx(0.122, abs=0.001)


def test_deepstack_keeps_a_buffer_for_each_batched_token():
    few, many = (weigh(QWEN3_8B, "none", 1, tokens).buffers for tokens in (2048, 8192))
    assert many - few == 3 * (8192 - 2048) * 4096 * 2


def test_a_rank_takes_a_little_more_than_its_tensors():
    weights = weigh(QWEN_72B, "none", 2, 8192)
    tensors = weights.encoder + weights.linears + weights.embeddings + weights.rest
    assert weights.rank - weights.buffers == tensors + tensors // 400


def test_heads_that_cant_be_shared_are_refused_with_what_can():
    with pytest.raises(PlanRefused) as caught:
        check_parallel(QWEN_7B, 3)
    assert str(caught.value) == (
        "tensor-parallel: 3 can't share 28 attention heads and 4 KV heads of "
        "Qwen/Qwen2.5-VL-7B-Instruct evenly; allowed: 1, 2, 4"
    )


@pytest.mark.parametrize("ranks", [0, -1])
def test_no_ranks_are_refused(ranks):
    with pytest.raises(PlanRefused, match=r"^tensor-parallel: "):
        weigh(QWEN_7B, "none", ranks, 8192)


def test_a_quantised_checkpoint_cant_be_loaded_as_another():
    awq = MODELS["Qwen/Qwen2.5-VL-7B-Instruct-AWQ"]
    check_quantization(awq, "awq")
    with pytest.raises(PlanRefused, match="is stored as awq, found none; allowed: awq"):
        check_quantization(awq, "none")


def test_what_vllm_cant_make_as_it_loads_is_noted():
    assert quantization_notes(QWEN_7B, "fp8") == quantization_notes(QWEN_7B, "none") == ()
    assert "no int8 checkpoint" in quantization_notes(QWEN_7B, "int8")[0]
