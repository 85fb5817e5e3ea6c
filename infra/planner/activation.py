"""The peak beside the weights: what vLLM's profiling run finds, before it sizes the KV cache.

Read from vLLM 0.29's source and held against public logs of 0.8 to 0.27; formulas, sources and
residuals are in docs/planner.md. Where versions differ the larger peak is taken: a plan that is too
careful costs a little memory, one that is not costs a start.
"""

from dataclasses import dataclass

from infra.catalogue.gpus import Gpu
from infra.models.spec import BITS_16, Encoder, ModelSpec
from infra.planner.engine import EngineSettings
from infra.planner.image_tokens import largest_image_tokens
from infra.planner.picture import ImageTokens
from infra.planner.sizes import GIB
from infra.planner.weights import encoder_shares

# Sampling with top-k and top-p over the whole vocabulary, for each of max_num_seqs rows and on
# every rank: measured on the V1 runner. 0.29's V2 profiles 2 of it, and takes more as it samples.
SAMPLER_BYTES = 35
HOPPER_WORKSPACE = 394 * 2**20  # FlashInfer's
GRAPHS = int(0.35 * GIB)  # of 0.23 to 0.53 in logs since 0.21, where they count
NON_TORCH_ALONE = int(0.13 * GIB)
NON_TORCH_NVLINK, NON_TORCH_PCIE = int(0.55 * GIB), int(0.3 * GIB)
MLLAMA_BYTES_PER_PATCH = 48_000  # measured: 36.63 GiB for 128 pictures of four tiles
VIDEO_STEP, VIDEO_MOST = 16_384, 7  # Qwen2.5-VL: tokens of a step, and how many steps
QWEN3_VIDEO_TOKENS = 153_600  # kept in the encoder cache before 0.12
DEEPSTACK_COPIES = 4  # Qwen3-VL keeps an output for each deepstack layer, and the last


@dataclass(frozen=True, slots=True)
class Peak:
    """Bytes on one rank: the phases of the profiling run, of which the highest counts.

    encoder    the vision encoder on the profiled pictures
    cache      encoder outputs that stay while the decoder runs
    forward    the decoder on max_num_batched_tokens tokens
    sampler    sampling for max_num_seqs rows
    fixed      workspaces
    """

    encoder: int
    cache: int
    forward: int
    sampler: int
    fixed: int

    @property
    def total(self) -> int:
        return max(self.encoder, self.cache + max(self.forward, self.sampler)) + self.fixed


@dataclass(frozen=True, slots=True)
class Profiled:
    """Patches that the encoder takes at once, and tokens that its cache holds."""

    patches: int
    tokens: int


def peak(spec: ModelSpec, gpu: Gpu, engine: EngineSettings) -> Peak:
    """What the profiling run of `spec` takes on one rank with these settings."""
    decoder, ranks = spec.decoder, engine.tensor_parallel
    shown = profiled(spec, engine)
    outputs = DEEPSTACK_COPIES if spec.encoder.deepstack else 1
    batched = engine.max_num_batched_tokens * decoder.hidden * BITS_16
    return Peak(
        encoder=shown.patches * patch_bytes(spec.encoder, decoder.hidden, ranks),
        cache=shown.tokens * decoder.hidden * BITS_16 * outputs,
        forward=engine.max_num_batched_tokens * _token_bytes(spec, ranks),
        sampler=engine.max_num_seqs * decoder.vocab * SAMPLER_BYTES + batched,
        fixed=HOPPER_WORKSPACE if _is_hopper_or_newer(gpu) else 0,
    )


def profiled(spec: ModelSpec, engine: EngineSettings) -> Profiled:
    """The pictures that are profiled: as many of the largest as the encoder's budget holds."""
    largest = largest_image_tokens(spec, engine.min_pixels, engine.max_pixels)
    if not spec.image.in_prompt:  # one for each sequence, outside the prompt
        return Profiled(engine.max_num_seqs * largest.patches, 0)
    image = _pictures(spec, largest, engine)
    video = _video(spec, largest, engine) if engine.videos else image
    return max(image, video, key=lambda shown: (shown.tokens, shown.patches))


def _pictures(spec: ModelSpec, largest: ImageTokens, engine: EngineSettings) -> Profiled:
    """vLLM takes whole pictures; here the budget is filled, or smaller pictures, which fill it
    better, would seem to need more."""
    budget = max(engine.max_num_batched_tokens, largest.tokens)
    a_question = min(engine.images * largest.tokens, max(engine.max_model_len, largest.tokens))
    tokens = min(budget, engine.max_num_seqs * a_question)
    return Profiled(-(-tokens * largest.patches // largest.tokens), tokens)


def _video(spec: ModelSpec, largest: ImageTokens, engine: EngineSettings) -> Profiled:
    """The largest video that a question of max_model_len could hold."""
    length = engine.max_model_len
    if spec.encoder.kind in ("qwen2", "qwen2_5"):
        steps = min(VIDEO_MOST, max(1, length // VIDEO_STEP))
        tokens = VIDEO_STEP * steps
        return Profiled(tokens * spec.encoder.merge**2, tokens)
    if spec.encoder.kind == "qwen3":
        return Profiled(largest.patches, QWEN3_VIDEO_TOKENS)
    if spec.image.rule == "internvl":
        frames = max(1, (length - largest.tokens) // spec.image.tile_tokens)
        each = largest.patches // largest.tiles
        return Profiled(frames * each, frames * spec.image.tile_tokens)
    return _pictures(spec, largest, engine)


def patch_bytes(encoder: Encoder, decoder_hidden: int, tensor_parallel: int) -> int:
    """Bytes that the encoder needs at once for one patch; ranks share heads and feed-forward, but
    each holds all of the residual."""
    if encoder.kind == "mllama":
        return MLLAMA_BYTES_PER_PATCH
    h, i = encoder.hidden, encoder.intermediate
    ranks, sharing = encoder_shares(encoder, tensor_parallel)
    pixels = 3 * encoder.patch**2 * BITS_16
    if encoder.kind in ("qwen2", "qwen2_5"):
        frames = 3 * pixels  # two equal frames at 16 bits, and once more at 8
        return max(6 * h + 16 * h // ranks, 10 * h + 6 * i // ranks) + frames + h // 4
    if encoder.kind == "qwen3":
        block = max(6 * h + 16 * h // ranks, 6 * h + 4 * i // ranks)
        return block + 2 * pixels + h // 4 + 2 * h + 3 * decoder_hidden // 2
    return max(6 * h + 8 * h // sharing, 6 * h + 4 * i // ranks) + pixels


def _token_bytes(spec: ModelSpec, tensor_parallel: int) -> int:
    """Bytes that a decoder layer needs at once for one token."""
    decoder, experts = spec.decoder, spec.decoder.experts
    if experts is None:
        return 6 * decoder.intermediate // tensor_parallel + 6 * decoder.hidden
    width = experts.intermediate // tensor_parallel
    each = 2 * max(width, decoder.hidden) + 2 * max(2 * width, decoder.hidden)
    return experts.active * each + 8 * decoder.hidden


def _is_hopper_or_newer(gpu: Gpu) -> bool:
    return gpu.compute_capability is not None and float(gpu.compute_capability) >= 9


def non_torch_bytes(gpu: Gpu, tensor_parallel: int) -> int:
    """What NCCL and the driver take on one rank: more between cards that NVLink joins."""
    if tensor_parallel == 1:
        return NON_TORCH_ALONE
    return NON_TORCH_NVLINK if gpu.nvlink else NON_TORCH_PCIE


def graphs_bytes(engine: EngineSettings) -> int:
    """The estimate for CUDA graphs, which vLLM takes off the KV cache since 0.21."""
    return 0 if engine.eager else GRAPHS
