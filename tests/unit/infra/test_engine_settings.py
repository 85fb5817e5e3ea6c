"""The engine's settings follow from the job, and reach vLLM under its own names."""

import pytest
from hypothesis import given
from hypothesis import settings as checked
from hypothesis import strategies as st

from infra.catalogue.gpus import find_gpu
from infra.catalogue.models import catalogued_models
from infra.errors import PlanRefused
from infra.planner.engine import (
    LENGTH_STEP,
    EngineSettings,
    model_length,
    processor_settings,
    settings_for,
    vllm_defaults,
)
from infra.planner.workload import Workload, tokens_of

MODELS = catalogued_models()
QWEN_7B = MODELS["Qwen/Qwen2.5-VL-7B-Instruct"]
INTERNVL = MODELS["OpenGVLab/InternVL3-8B"]
LLAVA = MODELS["llava-hf/llava-onevision-qwen2-0.5b-ov-hf"]
SIZES = ((1920, 1080),)


def settings(spec=QWEN_7B, quantization="none", **work):
    job = Workload(1000, SIZES, **work)
    return settings_for(spec, quantization, job, tokens_of(spec, job), 2)


def test_every_setting_reaches_vllm_under_its_own_name():
    assert settings(max_pixels=1_003_520, concurrency=64).to_vllm() == {
        "tensor_parallel_size": 2,
        "max_model_len": 2048 + 256,
        "max_num_seqs": 64,
        "max_num_batched_tokens": 8192,
        "gpu_memory_utilization": 0.92,
        "enforce_eager": False,
        "limit_mm_per_prompt": {"image": 1, "video": 0},
        "mm_processor_cache_gb": 0,
        "enable_prefix_caching": False,
        "mm_processor_kwargs": {"do_resize": False, "max_pixels": 1_003_520},
    }


def test_vllm_is_told_to_quantise_only_what_is_not_stored_so():
    stored = MODELS["Qwen/Qwen2.5-VL-7B-Instruct-AWQ"]
    assert settings(quantization="fp8").to_vllm()["quantization"] == "fp8"
    assert "quantization" not in settings().to_vllm()
    assert "quantization" not in settings(stored, "awq").to_vllm()


def test_pictures_of_a_question_are_allowed_and_videos_never():
    limit = settings(pictures=3).to_vllm()["limit_mm_per_prompt"]
    assert limit == {"image": 3, "video": 0}


@checked(deadline=None)
@given(st.integers(1, 128_000))
def test_the_length_holds_the_longest_question_in_steps_within_what_the_model_takes(longest):
    length = model_length(QWEN_7B, longest)
    assert longest <= length <= QWEN_7B.decoder.max_position
    assert length - longest < LENGTH_STEP
    assert length % LENGTH_STEP == 0 or length == QWEN_7B.decoder.max_position


@checked(deadline=None)
@given(st.integers(1, 3), st.integers(0, 8192), st.integers(1, 4096), st.integers(200_704, 10**7))
def test_no_question_of_the_job_is_longer_than_the_engine_takes(pictures, text, answer, pixels):
    job = Workload(
        10, SIZES, prompt_tokens=text, max_output=answer, pictures=pictures, max_pixels=pixels
    )
    tokens = tokens_of(QWEN_7B, job)
    assert tokens.sequence <= tokens.longest
    assert settings_for(QWEN_7B, "none", job, tokens, 1).max_model_len >= tokens.longest


def test_a_question_that_no_context_holds_is_refused_with_what_would_help():
    with pytest.raises(PlanRefused) as caught:
        settings(QWEN_7B, pictures=8)
    assert str(caught.value).startswith("max-model-len: a question with its answer can take ")
    assert str(caught.value).endswith(
        "allowed: fewer pictures a question, less text or a lower max_pixels"
    )


def test_the_worker_resizes_for_models_that_keep_a_pictures_size_and_vllm_for_the_others():
    assert processor_settings(QWEN_7B, None, None) == {"do_resize": False}
    assert processor_settings(INTERNVL, None, None) == {}
    assert processor_settings(INTERNVL, None, 4 * 448**2) == {"max_dynamic_patch": 4}
    assert processor_settings(LLAVA, None, None) == {}


@pytest.mark.parametrize(
    ("gpu", "defaults"),
    [
        ("H100", (16_384, 1024)),
        ("H200", (16_384, 1024)),
        ("A100-80", (8192, 256)),
        ("L40S", (8192, 256)),
        ("A800", (16_384, 1024)),
    ],
)
def test_vllms_own_defaults_double_on_large_cards_but_for_a100s(gpu, defaults):
    assert vllm_defaults(find_gpu(gpu)) == defaults


def test_settings_cant_be_changed_once_made():
    with pytest.raises(AttributeError):
        EngineSettings(1, 4096, 1, 2048).eager = True
