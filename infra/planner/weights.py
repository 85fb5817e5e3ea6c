"""Weights in bytes, in all and on each rank, by quantisation and tensor parallelism.

Quantisation shrinks the decoder's linear layers alone: vision encoder, embeddings and norms stay
at 16 bits in every published checkpoint. Sources: the formulas reproduce published element counts
of AWQ and FP8 checkpoints, and the load sizes that vLLM logs (docs/planner.md).
"""

from dataclasses import dataclass

from infra.errors import PlanRefused
from infra.models.parameters import count_parameters
from infra.models.spec import BITS_16, Encoder, ModelSpec, Quantization

AWQ_GROUP = 128  # numbers that share a 16-bit scale and a 4-bit zero
FP8_BLOCK = 128 * 128  # numbers that share a 32-bit scale
ROPE_PARTS = 4  # Qwen's M-RoPE cache is built for four times the longest sequence
MROPE = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe")
LOADING_SHARE = 400  # a load takes a 400th beyond its tensors; a 1,200th to a 175th was measured


@dataclass(frozen=True, slots=True)
class Weights:
    """Bytes on one rank; `total` is of the checkpoint, before it is shared out."""

    total: int
    encoder: int
    linears: int
    embeddings: int
    rest: int
    buffers: int

    @property
    def rank(self) -> int:
        tensors = self.encoder + self.linears + self.embeddings + self.rest
        return tensors + tensors // LOADING_SHARE + self.buffers


def weigh(
    spec: ModelSpec, quantization: Quantization, tensor_parallel: int, batched_tokens: int
) -> Weights:
    """The weights of `spec`, with the buffers that vLLM loads beside them.

    batched_tokens   max_num_batched_tokens: Qwen3-VL keeps a buffer of that length
    """
    check_parallel(spec, tensor_parallel)
    counts, ranks = count_parameters(spec), tensor_parallel
    linears = linear_bytes(counts.linears, quantization)
    encoder, embeddings = counts.encoder * BITS_16, counts.embeddings * BITS_16
    rest = counts.rest * BITS_16
    return Weights(
        total=encoder + linears + embeddings + rest,
        encoder=_encoder_of_rank(spec, encoder, ranks),
        linears=(linears + replicated_heads(spec, ranks)) // ranks,
        embeddings=embeddings // ranks,
        rest=rest // ranks,
        buffers=_buffers(spec, batched_tokens),
    )


def check_quantization(spec: ModelSpec, quantization: Quantization) -> None:
    """`PlanRefused` for a checkpoint that is stored in another quantisation already."""
    if spec.quantization not in ("none", quantization):
        raise PlanRefused(
            f"quantization: {spec.name} is stored as {spec.quantization}, found {quantization}; "
            f"allowed: {spec.quantization}"
        )


def quantization_notes(spec: ModelSpec, quantization: Quantization) -> tuple[str, ...]:
    """What a user has to know of a quantisation that is not the checkpoint's own."""
    if quantization == spec.quantization or quantization not in ("awq", "int8"):
        return ()
    return (f"{spec.name} is no {quantization} checkpoint: vLLM can't make one as it loads",)


def linear_bytes(count: int, quantization: Quantization) -> int:
    """Bytes of `count` numbers of linear layers, scales included."""
    if quantization == "awq":
        return count // 2 + count * 5 // (2 * AWQ_GROUP)
    if quantization == "fp8":
        return count + 4 * (count // FP8_BLOCK)
    if quantization == "int8":
        return count + 4 * (count // 4096)  # a 32-bit scale for each row
    return count * BITS_16


def encoder_shares(encoder: Encoder, tensor_parallel: int) -> tuple[int, int]:
    """Ranks that the encoder is cut into, and those that its attention is cut into. MiniCPM's is
    whole on each rank; so is attention whose heads can't be shared out (InternViT-6B has 25)."""
    ranks = 1 if encoder.kind == "minicpm" else tensor_parallel
    return ranks, 1 if encoder.heads % ranks else ranks


def _encoder_of_rank(spec: ModelSpec, size: int, tensor_parallel: int) -> int:
    encoder = spec.encoder
    ranks, sharing = encoder_shares(encoder, tensor_parallel)
    attention = 4 * encoder.hidden**2 * encoder.depth * BITS_16
    return (size - attention) // ranks + attention // sharing


def check_parallel(spec: ModelSpec, tensor_parallel: int) -> None:
    """`PlanRefused` when the model can't be cut into so many ranks."""
    decoder = spec.decoder
    allowed = [n for n in (1, 2, 4, 8, 16) if divides(spec, n)]
    if not divides(spec, tensor_parallel):
        raise PlanRefused(
            f"tensor-parallel: {tensor_parallel} can't share {decoder.heads} attention heads and "
            f"{decoder.kv_heads} KV heads of {spec.name} evenly; allowed: "
            f"{', '.join(map(str, allowed))}"
        )


def divides(spec: ModelSpec, tensor_parallel: int) -> bool:
    heads, kv = spec.decoder.heads, spec.decoder.kv_heads
    if tensor_parallel < 1 or heads % tensor_parallel:
        return False
    return kv % tensor_parallel == 0 or tensor_parallel % kv == 0


def replicated_heads(spec: ModelSpec, tensor_parallel: int) -> int:
    """Bytes that copies of KV heads add over all ranks, once there are more ranks than heads."""
    decoder = spec.decoder
    copies = max(0, tensor_parallel - decoder.kv_heads)
    return copies * 2 * decoder.layers * decoder.hidden * decoder.head_dim * BITS_16


def _buffers(spec: ModelSpec, batched_tokens: int) -> int:
    decoder = spec.decoder
    longest = decoder.max_position or 0
    rope = longest * decoder.head_dim * BITS_16
    if spec.family in MROPE:
        rope *= ROPE_PARTS
    deepstack = spec.encoder.deepstack * batched_tokens * decoder.hidden * BITS_16
    return rope + deepstack
