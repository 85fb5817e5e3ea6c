"""What a model is made of, as far as its size, speed and licence go: the planner's noun.

Rows of the catalogue and a checkpoint's own `config.json` both become a `ModelSpec`; what comes
after it never asks where it came from.
"""

from dataclasses import dataclass
from typing import Literal

Quantization = Literal["none", "fp8", "awq", "int8"]
QUANTIZATIONS: tuple[Quantization, ...] = ("none", "fp8", "awq", "int8")
BITS_16 = 2  # bytes of a bf16 or fp16 number

# How a vision encoder is built, which decides its parameters and its peak.
VisionKind = Literal["qwen2_5", "qwen3", "internvit", "siglip", "minicpm", "mllama", "qwen2"]


@dataclass(frozen=True, slots=True)
class Experts:
    """A mixture of experts in every layer: `active` of `count` work on a token."""

    count: int
    active: int
    intermediate: int


@dataclass(frozen=True, slots=True)
class Decoder:
    """The language decoder: a transformer with gated feed-forward layers.

    cross_layers    layers that attend to the picture instead of the text (Llama 3.2 Vision alone)
    extra_rows      rows of the input embedding beyond the vocabulary
    max_position    longest sequence, in tokens; None when its config does not say
    """

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int
    tied: bool
    qkv_bias: bool
    qk_norm: bool
    max_position: int | None
    experts: Experts | None = None
    cross_layers: int = 0
    extra_rows: int = 0


@dataclass(frozen=True, slots=True)
class Encoder:
    """The vision encoder, and what joins it to the decoder.

    image       side of the square input, in pixels; 0 when pictures keep their own size
    merge       patches on a side that become one language token; 1: none are merged
    deepstack   layers of the encoder that are also fed into the decoder
    """

    kind: VisionKind
    depth: int
    hidden: int
    heads: int
    intermediate: int
    patch: int
    merge: int = 1
    image: int = 0
    deepstack: int = 0


@dataclass(frozen=True, slots=True)
class ImageRule:
    """How a picture becomes tokens.

    factor       both sides become multiples of it, in pixels (`smart_resize`)
    tile         side of a tile, in pixels; tile_tokens: language tokens of one
    most_tiles   tiles of one picture, without the overview
    wrapper      tokens around a picture that are not picture
    """

    rule: Literal["smart_resize", "internvl", "anyres", "minicpm", "cross_attention"]
    factor: int = 0
    min_pixels: int | None = None
    max_pixels: int | None = None
    tile: int = 0
    tile_tokens: int = 0
    most_tiles: int = 0
    wrapper: int = 0

    @property
    def in_prompt(self) -> bool:
        """Whether picture tokens take a place in the prompt; else they are cross-attended to."""
        return self.rule != "cross_attention"


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One checkpoint.

    family        `model_type` of its config.json: how the worker knows it
    licence       key into the catalogue's licences, or its text when that is not known there
    remote_code   whether vLLM must run code that comes with the weights
    boxes         the space its boxes are in, or "unknown"
    dated         when the row was read; source: where from
    """

    name: str
    family: str
    decoder: Decoder
    encoder: Encoder
    image: ImageRule
    licence: str
    remote_code: bool
    boxes: str
    source: str
    dated: str
    quantization: Quantization = "none"
    last_vllm: str | None = None
    note: str = ""
