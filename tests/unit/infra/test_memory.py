"""Does it fit: one rank's memory, and the bars of what must fit on what."""

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.catalogue.gpus import find_gpu, gpus
from infra.catalogue.models import catalogued_models
from infra.catalogue.offers import catalogued_offers
from infra.errors import PlanRefused
from infra.planner.ask import Limits, Request, judged, quote
from infra.planner.engine import EngineSettings, settings_for
from infra.planner.judge import Given
from infra.planner.kv_cache import heads_replicate, kv_bytes_per_token
from infra.planner.memory import HEADROOM, HEADROOM_LONG, rank_memory
from infra.planner.sizes import GIB
from infra.planner.weights import divides
from infra.planner.workload import Workload, tokens_of

MODELS = catalogued_models()
QWEN_7B = MODELS["Qwen/Qwen2.5-VL-7B-Instruct"]
QWEN_32B = MODELS["Qwen/Qwen2.5-VL-32B-Instruct"]
QWEN_72B = MODELS["Qwen/Qwen2.5-VL-72B-Instruct"]
MINICPM = MODELS["openbmb/MiniCPM-V-4_5"]
BOUNDED = [QWEN_7B, MODELS["Qwen/Qwen3-VL-8B-Instruct"], MODELS["OpenGVLab/InternVL3-8B"]]
WORK = Workload(1000, ((1920, 1080),))
H100 = find_gpu("H100")


def planned(spec, gpu, ranks=1, work=WORK, quantization="none"):
    engine = settings_for(spec, quantization, work, tokens_of(spec, work), ranks)
    return rank_memory(spec, gpu, quantization, engine)


def chosen(spec, *names):
    request = Request(spec, Workload(50_000, ((1920, 1080),)))
    found = quote(request, Limits(gpus=names), catalogued_offers(), date(2026, 11, 30))
    return None if found.choice is None else (found.choice.gpu.name, found.choice.tensor_parallel)


def test_72b_at_16_bits_needs_two_h200_or_four_h100():
    assert chosen(QWEN_72B, "H200") == ("H200", 2)
    assert chosen(QWEN_72B, "H100") == ("H100", 4)


def test_32b_at_16_bits_fits_one_h200_and_is_too_tight_for_one_h100():
    assert chosen(QWEN_32B, "H200") == ("H200", 1)
    tight = planned(QWEN_32B, H100)
    assert tight.tight
    assert tight.reason.startswith("too tight: weights with headroom take 78.2 GiB")
    assert chosen(QWEN_32B, "H100") == ("H100", 2)


@pytest.mark.parametrize("name", ["L40S", "A100-80", "A100-40"])
def test_minicpm_fits_one_l40s_or_one_a100(name):
    memory = planned(MINICPM, find_gpu(name))
    assert memory.fits
    assert not memory.tight
    assert judged(Request(MINICPM, WORK), name, Given(), ()).choice.memory.fits


@settings(deadline=None)
@given(
    st.sampled_from(BOUNDED),
    st.integers(448**2, 8_000_000),
    st.integers(0, 8_000_000),
    st.sampled_from([1, 2, 4]),
)
def test_more_pixels_never_mean_less_memory(spec, pixels, more, ranks):
    smaller = planned(spec, H100, ranks, replace(WORK, max_pixels=pixels))
    larger = planned(spec, H100, ranks, replace(WORK, max_pixels=pixels + more))
    assert smaller.needs_gib <= larger.needs_gib
    assert smaller.kv_gib >= larger.kv_gib


@settings(deadline=None)
@given(st.sampled_from(BOUNDED), st.integers(32, 4000), st.integers(0, 4000), st.integers(1, 400))
def test_larger_pictures_at_once_never_mean_less_memory(spec, side, more, concurrency):
    needs = []
    for size in (side, side + more):
        work = replace(WORK, sizes=((size, size),), concurrency=concurrency)
        tokens = tokens_of(spec, work)
        engine = settings_for(spec, "none", work, tokens, 1)
        together = concurrency * tokens.sequence
        needs.append(rank_memory(spec, H100, "none", engine, together).needs_gib)
    assert needs[0] <= needs[1]


@settings(deadline=None)
@given(
    st.sampled_from(sorted(MODELS)),
    st.sampled_from([name for name, gpu in gpus().items() if gpu.memory_gib]),
    st.sampled_from([1, 2, 4]),
)
def test_more_gpus_never_mean_a_higher_need_on_each_but_where_heads_are_copied(name, gpu, ranks):
    spec = MODELS[name]
    if divides(spec, 2 * ranks) and not heads_replicate(spec.decoder, 2 * ranks):
        card, stored = find_gpu(gpu), spec.quantization
        fewer, more = (planned(spec, card, n, quantization=stored) for n in (ranks, 2 * ranks))
        assert more.needs_gib <= fewer.needs_gib


@settings(deadline=None)
@given(st.sampled_from(sorted(MODELS)), st.sampled_from(["H100", "L4", "A10"]))
def test_the_parts_make_up_the_budget_and_the_cache_is_what_is_left(name, gpu):
    spec = MODELS[name]
    memory = planned(spec, find_gpu(gpu), quantization=spec.quantization)
    parts = memory.weights_gib + memory.activation_gib + memory.non_torch_gib + memory.graphs_gib
    assert memory.budget_gib == pytest.approx(memory.has_gib * 0.92, abs=1e-6)
    assert memory.kv_gib == pytest.approx(memory.budget_gib - parts, abs=1e-6)
    token_gib = kv_bytes_per_token(spec.decoder, 1) / GIB
    assert memory.kv_tokens * token_gib <= max(memory.kv_gib, 0) + 1e-6
    assert memory.kv_tokens % 16 == 0


def test_what_needs_more_than_there_is_does_not_fit_and_says_how_much():
    memory = planned(QWEN_72B, H100)
    assert not memory.fits
    assert memory.needs_gib > memory.has_gib
    assert memory.reason == f"does not fit: needs {memory.needs_gib:.1f} GiB, has 79.2"


def test_a_card_of_just_what_is_needed_fits():
    memory = planned(QWEN_7B, H100)
    assert planned(QWEN_7B, replace(H100, total_gib=memory.needs_gib + 0.01)).fits
    assert not planned(QWEN_7B, replace(H100, total_gib=memory.needs_gib - 0.01)).fits


def test_a_16_bit_checkpoint_is_there_in_both_forms_while_it_is_shrunk():
    memory = planned(QWEN_72B, find_gpu("H200"), quantization="fp8")
    assert not memory.fits
    assert memory.reason.endswith("the 16-bit weights are loaded before they are shrunk")


def test_long_text_wants_more_headroom():
    engine = EngineSettings(1, 4096, 1, 2048)
    weights = rank_memory(QWEN_7B, H100, "none", engine).weights_gib
    between = replace(H100, total_gib=weights * (1 + (HEADROOM + HEADROOM_LONG) / 2) / 0.92)
    assert not rank_memory(QWEN_7B, between, "none", engine).tight
    assert rank_memory(QWEN_7B, between, "none", engine, long_text=True).tight


def test_a_gpu_of_unknown_memory_is_refused_not_guessed():
    unknown = replace(H100, total_gib=None, reported_mib=None, nominal_gib=None)
    with pytest.raises(PlanRefused, match=r"^memory of H100 is unknown; allowed: "):
        rank_memory(QWEN_7B, unknown, "none", EngineSettings(1, 4096, 1, 2048))
