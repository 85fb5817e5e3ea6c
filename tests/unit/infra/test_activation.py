"""The peak of vLLM's profiling run: which pictures it takes, and which phase is the highest."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.catalogue.gpus import find_gpu
from infra.catalogue.models import catalogued_models
from infra.planner.activation import (
    HOPPER_WORKSPACE,
    SAMPLER_BYTES,
    Peak,
    graphs_bytes,
    non_torch_bytes,
    patch_bytes,
    peak,
    profiled,
)
from infra.planner.engine import EngineSettings

MODELS = catalogued_models()
QWEN_7B = MODELS["Qwen/Qwen2.5-VL-7B-Instruct"]
QWEN3_8B = MODELS["Qwen/Qwen3-VL-8B-Instruct"]
INTERNVL_1B = MODELS["OpenGVLab/InternVL3-1B"]
LLAMA = MODELS["meta-llama/Llama-3.2-11B-Vision-Instruct"]
BOUNDED = [QWEN_7B, QWEN3_8B, INTERNVL_1B]
A100, H100 = find_gpu("A100-80"), find_gpu("H100")
ENGINE = EngineSettings(1, 32_768, 256, 8192)


def test_the_highest_phase_counts_with_workspaces_on_top():
    assert Peak(encoder=9, cache=2, forward=3, sampler=5, fixed=1).total == 10
    assert Peak(encoder=6, cache=2, forward=3, sampler=5, fixed=1).total == 8


def test_a_log_of_0_23_with_a_video_is_met_within_a_few_percent():
    """q25-7b-util022: 114,688 tokens; 15.37 GiB beside weights, graphs and non-torch."""
    engine = replace(ENGINE, max_model_len=128_000, videos=1)
    assert profiled(QWEN_7B, engine).tokens == 114_688
    assert peak(QWEN_7B, A100, engine).encoder / 2**30 == pytest.approx(15.37, rel=0.04)


def test_the_public_log_of_internvl_with_a_video_is_met():
    engine = replace(ENGINE, max_model_len=65_536, videos=1)
    assert profiled(INTERNVL_1B, engine).tokens == 62_208


def test_without_videos_only_pictures_are_profiled():
    assert profiled(QWEN_7B, replace(ENGINE, max_model_len=128_000)).tokens == 16_384


def test_few_rows_of_small_pictures_leave_the_budget_unused():
    """q3-8b-eager: five pictures of 980 tokens."""
    engine = replace(ENGINE, max_model_len=1024, max_num_seqs=5, max_pixels=1_003_520)
    assert profiled(QWEN3_8B, engine).tokens == 5 * 980


def test_llama_profiles_a_picture_for_every_row():
    most = profiled(LLAMA, ENGINE)
    assert most.patches == 256 * profiled(LLAMA, replace(ENGINE, max_num_seqs=1)).patches
    assert most.tokens == 0


@settings(deadline=None)
@given(
    st.sampled_from(BOUNDED),
    st.integers(448**2, 8_000_000),
    st.integers(0, 8_000_000),
    st.sampled_from([2048, 8192, 16_384]),
    st.sampled_from([1, 5, 256]),
    st.sampled_from([1024, 8192, 32_768]),
    st.integers(1, 3),
)
def test_more_pixels_never_mean_a_lower_peak(spec, pixels, more, batched, rows, length, pictures):
    engine = EngineSettings(1, length, rows, batched, images=pictures, max_pixels=pixels)
    larger = replace(engine, max_pixels=pixels + more)
    assert peak(spec, H100, engine).total <= peak(spec, H100, larger).total


@settings(deadline=None)
@given(st.sampled_from(sorted(MODELS)), st.sampled_from([1, 2, 4, 8]))
def test_more_ranks_never_mean_a_higher_peak_on_each(name, ranks):
    one, two = (replace(ENGINE, tensor_parallel=n) for n in (ranks, 2 * ranks))
    assert peak(MODELS[name], A100, two).total <= peak(MODELS[name], A100, one).total


@settings(deadline=None)
@given(st.sampled_from(sorted(MODELS)), st.integers(1, 8192), st.integers(1, 1024))
def test_more_batched_tokens_or_rows_never_mean_a_lower_peak(name, batched, rows):
    engine = EngineSettings(1, 4096, rows, batched)
    base = peak(MODELS[name], A100, engine).total
    assert base <= peak(MODELS[name], A100, replace(engine, max_num_batched_tokens=16_384)).total
    assert base <= peak(MODELS[name], A100, replace(engine, max_num_seqs=2 * rows)).total


def test_sampling_takes_the_whole_vocabulary_for_each_row_on_every_rank():
    few, many = (peak(QWEN_7B, A100, replace(ENGINE, max_num_seqs=n)).sampler for n in (1, 1024))
    assert many - few == 1023 * QWEN_7B.decoder.vocab * SAMPLER_BYTES
    two = replace(ENGINE, tensor_parallel=2)
    assert peak(QWEN_7B, A100, two).sampler == peak(QWEN_7B, A100, ENGINE).sampler


@pytest.mark.parametrize(
    ("name", "ranks", "size"),
    [
        ("Qwen/Qwen2.5-VL-7B-Instruct", 1, 37_168),
        ("Qwen/Qwen2.5-VL-7B-Instruct", 2, 26_908),
        ("Qwen/Qwen3-VL-8B-Instruct", 1, 37_152),
        ("Qwen/Qwen3-VL-8B-Instruct", 4, 23_328),
        ("OpenGVLab/InternVL3-78B", 1, 71_576),
        ("OpenGVLab/InternVL3-78B", 4, 6 * 3200 + 8 * 3200 + 1176),  # attention is not shared
    ],
)
def test_a_patch_takes_what_the_source_of_vllm_says(name, ranks, size):
    spec = MODELS[name]
    assert patch_bytes(spec.encoder, spec.decoder.hidden, ranks) == size


def test_hoppers_workspace_is_counted_there_alone():
    assert peak(QWEN_7B, H100, ENGINE).fixed == HOPPER_WORKSPACE
    assert peak(QWEN_7B, A100, ENGINE).fixed == 0


def test_cards_that_talk_take_more_outside_torch_most_over_nvlink():
    sizes = [non_torch_bytes(gpu, n) for gpu, n in ((H100, 1), (find_gpu("L40S"), 2), (H100, 2))]
    assert sizes == sorted(sizes)
    assert len(set(sizes)) == 3


def test_an_eager_engine_has_no_graphs():
    assert graphs_bytes(replace(ENGINE, eager=True)) == 0 < graphs_bytes(ENGINE)
