"""The engine's settings that follow from a plan. The same values reach vLLM: one source."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from infra.catalogue.gpus import Gpu
from infra.errors import PlanRefused
from infra.models.spec import ModelSpec, Quantization
from infra.planner.pixel_bounds import pixel_settings
from infra.planner.workload import Tokens, Workload

UTILIZATION = 0.92  # vLLM's default
LENGTH_STEP = 256
BATCHED_TOKENS = 8192
MOST_SEQUENCES = 256
MOST_SEQUENCES_CROSS = 16  # where the encoder is profiled with a picture for each of them
# Every picture is asked once, so caches of pictures and prefixes only cost memory.
UNCACHED: Mapping[str, Any] = {"mm_processor_cache_gb": 0, "enable_prefix_caching": False}
LARGE_GIB = 70  # from here vLLM's own defaults double, but for A100s


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Lengths in tokens; `utilization` is the share of a GPU's memory that vLLM may use.

    quantization   what vLLM is told to make of the weights as it loads them; "none": as stored
    """

    tensor_parallel: int
    max_model_len: int
    max_num_seqs: int
    max_num_batched_tokens: int
    utilization: float = UTILIZATION
    images: int = 1
    videos: int = 0
    min_pixels: int | None = None
    max_pixels: int | None = None
    processor: Mapping[str, Any] = field(default_factory=dict)
    eager: bool = False
    quantization: Quantization = "none"

    def to_vllm(self) -> dict[str, Any]:
        """Keyword arguments of vLLM's engine. Videos are off: profiling would otherwise reserve
        memory for the largest one."""
        return {
            "tensor_parallel_size": self.tensor_parallel,
            "max_model_len": self.max_model_len,
            "max_num_seqs": self.max_num_seqs,
            "max_num_batched_tokens": self.max_num_batched_tokens,
            "gpu_memory_utilization": self.utilization,
            "enforce_eager": self.eager,
            "limit_mm_per_prompt": {"image": self.images, "video": self.videos},
            **UNCACHED,
            "mm_processor_kwargs": dict(self.processor),
            **({} if self.quantization == "none" else {"quantization": self.quantization}),
        }


def processor_settings(
    spec: ModelSpec, min_pixels: int | None, max_pixels: int | None
) -> dict[str, Any]:
    """What the model's image processor is told. Where pictures keep their size, the worker hands
    them over at exactly the model's: a second resize would find another one for long pictures, and
    boxes would be measured on a picture that we never saw."""
    bounds: dict[str, Any] = dict(pixel_settings(spec, min_pixels, max_pixels))
    return {"do_resize": False, **bounds} if spec.image.rule == "smart_resize" else bounds


def settings_for(
    spec: ModelSpec,
    quantization: Quantization,
    work: Workload,
    tokens: Tokens,
    tensor_parallel: int,
) -> EngineSettings:
    """Settings that take the longest question of `work`; `PlanRefused` when the model does not."""
    sequences = work.concurrency or _most_sequences(spec)
    return EngineSettings(
        tensor_parallel=tensor_parallel,
        max_model_len=model_length(spec, tokens.longest),
        max_num_seqs=sequences,
        max_num_batched_tokens=max(BATCHED_TOKENS, sequences),  # vLLM refuses to start with fewer
        images=work.pictures,
        min_pixels=work.min_pixels,
        max_pixels=work.max_pixels,
        processor=processor_settings(spec, work.min_pixels, work.max_pixels),
        quantization="none" if quantization == spec.quantization else quantization,
    )


def _most_sequences(spec: ModelSpec) -> int:
    cross = spec.image.rule == "cross_attention"
    return MOST_SEQUENCES_CROSS if cross else MOST_SEQUENCES


def model_length(spec: ModelSpec, longest: int) -> int:
    """`longest` rounded up, within what the model takes."""
    rounded = -(-longest // LENGTH_STEP) * LENGTH_STEP
    most = spec.decoder.max_position
    if most is None:
        return rounded
    if longest > most:
        raise PlanRefused(
            f"max-model-len: a question with its answer can take {longest} tokens, {spec.name} "
            f"takes {most}; allowed: fewer pictures a question, less text or a lower max_pixels"
        )
    return min(rounded, most)


def vllm_defaults(gpu: Gpu) -> tuple[int, int]:
    """max_num_batched_tokens and max_num_seqs that vLLM takes by itself on `gpu`, offline."""
    large = (gpu.memory_gib or 0) >= LARGE_GIB and not gpu.name.startswith("A100")
    return (2 * BATCHED_TOKENS, 4 * MOST_SEQUENCES) if large else (BATCHED_TOKENS, MOST_SEQUENCES)
