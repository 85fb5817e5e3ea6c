"""Seconds of work by a roofline: what must be computed and read, over what the GPU can do.

Three costs of a question: the vision encoder and the prefill, bound by arithmetic, and decoding,
bound by memory. Efficiencies are assumptions (infra/catalogue/assumptions.json) that widen the
answer into a range; what earlier jobs measured replaces them.
"""

from dataclasses import dataclass
from math import log2

from infra.catalogue.assumptions import Case, assume
from infra.catalogue.gpus import Gpu
from infra.models.parameters import active_linears, count_parameters
from infra.models.spec import BITS_16, Encoder, ModelSpec, Quantization
from infra.planner.kv_cache import kv_bytes_per_token
from infra.planner.weights import linear_bytes

FLOPS_PER_PARAMETER = 2  # a multiplication and an addition
TERA, GIGA = 1e12, 1e9
WINDOW_PATCHES, WINDOW_SHARE = 64, 28 / 32  # Qwen2.5-VL: 28 of 32 layers attend within 112 pixels


@dataclass(frozen=True, slots=True)
class Demand:
    """One question: FLOPs of encoder and prefill, and tokens to decode after `context` tokens."""

    encoder_flops: float
    prefill_flops: float
    output_tokens: float
    context: float


def demand(
    spec: ModelSpec, patches: float, tiles: float, prompt_tokens: float, output_tokens: float
) -> Demand:
    """What a question with `patches` in `tiles`, and a prompt of so many tokens, demands."""
    return Demand(
        encoder_flops=encoder_flops(spec, patches, tiles),
        prefill_flops=prefill_flops(spec, prompt_tokens),
        output_tokens=output_tokens,
        context=prompt_tokens + output_tokens / 2,
    )


def encoder_flops(spec: ModelSpec, patches: float, tiles: float) -> float:
    encoder = spec.encoder
    linear = FLOPS_PER_PARAMETER * count_parameters(spec).encoder * patches
    attended = _attended(encoder, patches, tiles)
    return linear + 2 * FLOPS_PER_PARAMETER * encoder.depth * encoder.hidden * patches * attended


def _attended(encoder: Encoder, patches: float, tiles: float) -> float:
    """Patches that a patch attends to, on average over the layers."""
    if encoder.kind == "qwen2_5":
        return WINDOW_SHARE * min(patches, WINDOW_PATCHES) + (1 - WINDOW_SHARE) * patches
    return patches / max(tiles, 1)


def prefill_flops(spec: ModelSpec, tokens: float) -> float:
    decoder = spec.decoder
    linear = FLOPS_PER_PARAMETER * active_linears(decoder) * tokens
    width = decoder.heads * decoder.head_dim
    return linear + FLOPS_PER_PARAMETER * decoder.layers * width * tokens**2  # causal: half


def step_bytes(
    spec: ModelSpec, quantization: Quantization, tensor_parallel: int, batch: float, context: float
) -> float:
    """Bytes that one rank reads for one decoding step of `batch` sequences."""
    counts, decoder = count_parameters(spec), spec.decoder
    linears = linear_bytes(counts.linears, quantization) * _touched(spec, batch)
    head = decoder.vocab * decoder.hidden * BITS_16
    cache = batch * context * kv_bytes_per_token(decoder, tensor_parallel)
    return (linears + head) / tensor_parallel + cache


def _touched(spec: ModelSpec, batch: float) -> float:
    """The share of the linear weights that a step of `batch` tokens reads: experts may rest."""
    experts = spec.decoder.experts
    if experts is None:
        return 1.0
    resting: float = (1 - experts.active / experts.count) ** batch
    attention = active_linears(spec.decoder) / count_parameters(spec).linears
    return max(attention, 1 - resting)


@dataclass(frozen=True, slots=True)
class Roofline:
    """What one replica of a model can do on its GPUs."""

    spec: ModelSpec
    gpu: Gpu
    quantization: Quantization
    tensor_parallel: int

    def question_s(self, need: Demand, batch: float, case: Case) -> float:
        """Seconds of the replica for one question, when `batch` are in work at a time."""
        arithmetic = need.encoder_flops + need.prefill_flops
        step = self.step_s(batch, need.context, case)
        return arithmetic / self.flops(case) + need.output_tokens * step / batch

    def step_s(self, batch: float, context: float, case: Case) -> float:
        """Seconds to decode one token of each of `batch` sequences: the slower of both bounds."""
        spec, ranks = self.spec, self.tensor_parallel
        read = step_bytes(spec, self.quantization, ranks, batch, context)
        flops = FLOPS_PER_PARAMETER * active_linears(spec.decoder) * batch
        return max(read / self.bytes_per_s(case), flops / self.flops(case))

    def flops(self, case: Case) -> float:
        """FLOP/s of all ranks together."""
        peak = peak_tflops(self.gpu, self.quantization) * TERA * self.tensor_parallel
        return peak * self._kept(case) * assume("compute_efficiency", case)

    def bytes_per_s(self, case: Case) -> float:
        """Bytes per second of one rank."""
        assert self.gpu.bandwidth_gbs is not None, "a GPU without figures has no roofline"
        peak = self.gpu.bandwidth_gbs * GIGA
        return peak * self._kept(case) * assume("bandwidth_efficiency", case)

    def _kept(self, case: Case) -> float:
        links = "parallel_efficiency" if self.gpu.nvlink else "parallel_efficiency_pcie"
        kept: float = assume(links, case) ** log2(self.tensor_parallel)
        return kept


def peak_tflops(gpu: Gpu, quantization: Quantization) -> float:
    """Dense peak at the width that the linears are computed in; AWQ computes at 16 bits."""
    assert gpu.bf16_tflops is not None, "a GPU without figures has no roofline"
    narrow = quantization in ("fp8", "int8") and gpu.fp8_tflops
    return gpu.fp8_tflops if narrow and gpu.fp8_tflops else gpu.bf16_tflops
