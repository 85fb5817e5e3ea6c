"""The KV cache: what a token, a picture and many pictures at once take of it."""

from dataclasses import dataclass

from infra.models.spec import BITS_16, Decoder
from infra.planner.sizes import to_gib

CONCURRENCIES = (1, 8, 32, 128)
BLOCK = 16  # tokens of a block of vLLM's cache


def kv_heads_of_rank(decoder: Decoder, tensor_parallel: int) -> int:
    """KV heads on one rank: once there are more ranks than heads, each rank holds a copy."""
    return max(1, decoder.kv_heads // tensor_parallel)


def kv_bytes_per_token(decoder: Decoder, tensor_parallel: int) -> int:
    """Bytes of a token on one rank, at 16 bits: key and value of every layer."""
    heads = kv_heads_of_rank(decoder, tensor_parallel)
    return 2 * decoder.layers * heads * decoder.head_dim * BITS_16


def heads_replicate(decoder: Decoder, tensor_parallel: int) -> bool:
    """Whether more ranks no longer make a rank's KV cache smaller."""
    return tensor_parallel > decoder.kv_heads


@dataclass(frozen=True, slots=True)
class Concurrent:
    """What `pictures` at a time need of the KV cache of one rank, and whether there is as much."""

    pictures: int
    tokens: int
    gib: float
    fits: bool


def explosion(
    decoder: Decoder, tensor_parallel: int, sequence_tokens: int, kv_tokens: int
) -> tuple[Concurrent, ...]:
    """KV cache at 1, 8, 32 and 128 concurrent pictures of `sequence_tokens` tokens each."""
    each = kv_bytes_per_token(decoder, tensor_parallel)
    return tuple(
        Concurrent(
            n,
            n * sequence_tokens,
            to_gib(n * sequence_tokens * each),
            n * sequence_tokens <= kv_tokens,
        )
        for n in CONCURRENCIES
    )
