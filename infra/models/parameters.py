"""Exact parameter counts, from a model's dimensions; vision encoder and decoder apart.

Each formula was held against the published totals of every model in the catalogue, and a test
holds it there.
"""

from dataclasses import dataclass

from infra.models.spec import Decoder, Encoder, ModelSpec

RGB, FRAMES = 3, 2  # Qwen's encoders take pictures as two equal frames of a video
QWEN3_POSITIONS = 2304  # 48 x 48 learned positions, interpolated to the picture's grid
MINICPM_IMAGE, MINICPM_QUERIES = 980, 64
MLLAMA_GLOBAL_LAYERS, MLLAMA_TILES, MLLAMA_RATIOS, MLLAMA_FEATURES = 8, 4, 9, 6


@dataclass(frozen=True, slots=True)
class Parameters:
    """Counts of numbers.

    encoder       vision encoder with its projector
    linears       the decoder's linear layers: what quantisation shrinks
    embeddings    input embedding, and the output head when it is not the same
    rest          norms, biases, routers and gates of the decoder
    """

    encoder: int
    linears: int
    embeddings: int
    rest: int

    @property
    def decoder(self) -> int:
        return self.linears + self.embeddings + self.rest

    @property
    def total(self) -> int:
        return self.encoder + self.decoder


def count_parameters(spec: ModelSpec) -> Parameters:
    """The parameters of `spec` by component."""
    decoder, encoder = spec.decoder, spec.encoder
    return Parameters(
        encoder=_ENCODERS[encoder.kind](encoder, decoder.hidden),
        linears=_linears(decoder),
        embeddings=_embeddings(decoder),
        rest=_rest(decoder),
    )


def active_linears(decoder: Decoder) -> int:
    """The decoder's linear parameters that work on one token: all, but for experts at rest."""
    if decoder.experts is None:
        return _linears(decoder)
    return decoder.layers * (_attention(decoder) + _expert(decoder) * decoder.experts.active)


def _linears(decoder: Decoder) -> int:
    experts = decoder.experts
    forward = (
        3 * decoder.hidden * decoder.intermediate
        if experts is None
        else experts.count * _expert(decoder)
    )
    return decoder.layers * (_attention(decoder) + forward)


def _attention(decoder: Decoder) -> int:
    query, key = decoder.heads * decoder.head_dim, decoder.kv_heads * decoder.head_dim
    return 2 * decoder.hidden * (query + key)


def _expert(decoder: Decoder) -> int:
    assert decoder.experts is not None, "only a mixture has experts"
    return 3 * decoder.hidden * decoder.experts.intermediate


def _embeddings(decoder: Decoder) -> int:
    heads = 1 if decoder.tied else 2
    return (heads * decoder.vocab + decoder.extra_rows) * decoder.hidden


def _rest(decoder: Decoder) -> int:
    query, key = decoder.heads * decoder.head_dim, decoder.kv_heads * decoder.head_dim
    layer = 2 * decoder.hidden
    layer += query + 2 * key if decoder.qkv_bias else 0
    layer += 2 * decoder.head_dim if decoder.qk_norm else 0
    layer += decoder.hidden * decoder.experts.count if decoder.experts else 0
    cross = 2 * decoder.head_dim + 2  # norms of query and key, two gates
    return decoder.layers * layer + decoder.cross_layers * cross + decoder.hidden


def _linear(inputs: int, outputs: int) -> int:
    return inputs * outputs + outputs


def _plain_block(encoder: Encoder) -> int:
    """A layer with attention, two linears, two layer norms, and a bias on everything."""
    h, i = encoder.hidden, encoder.intermediate
    return _linear(h, 3 * h) + _linear(h, h) + _linear(h, i) + _linear(i, h) + 4 * h


def _patches(encoder: Encoder, frames: int = 1) -> int:
    return RGB * frames * encoder.patch**2 * encoder.hidden


def _merger(encoder: Encoder, out: int) -> int:
    merged = encoder.hidden * encoder.merge**2
    return _linear(merged, merged) + _linear(merged, out)


def _qwen2_5(encoder: Encoder, out: int) -> int:
    h, i = encoder.hidden, encoder.intermediate
    block = _linear(h, 3 * h) + _linear(h, h) + 2 * _linear(h, i) + _linear(i, h) + 2 * h
    return encoder.depth * block + _patches(encoder, FRAMES) + h + _merger(encoder, out)


def _qwen2(encoder: Encoder, out: int) -> int:
    norm = 2 * encoder.hidden
    blocks = encoder.depth * _plain_block(encoder)
    return blocks + _patches(encoder, FRAMES) + norm + _merger(encoder, out)


def _qwen3(encoder: Encoder, out: int) -> int:
    h = encoder.hidden
    patches = _patches(encoder, FRAMES) + h + QWEN3_POSITIONS * h
    deep = _merger(encoder, out) + 2 * h * encoder.merge**2
    merger = _merger(encoder, out) + 2 * h
    return encoder.depth * _plain_block(encoder) + patches + merger + encoder.deepstack * deep


def _internvit(encoder: Encoder, out: int) -> int:
    """The 6B encoder has norms on query and key, no bias on them, and RMS norms; 300M has not."""
    h, i = encoder.hidden, encoder.intermediate
    large = h > 1024
    block = _linear(h, 3 * h) - (3 * h if large else 0) + _linear(h, h)
    block += _linear(h, i) + _linear(i, h)
    block += 2 * h + (2 * h + 2 * h if large else 4 * h)  # layer scales, then the norms
    positions = (encoder.image // encoder.patch) ** 2 + 1
    merged = h * encoder.merge**2
    projector = 2 * merged + _linear(merged, out) + _linear(out, out)
    return encoder.depth * block + _patches(encoder) + 2 * h + positions * h + projector


def _siglip(encoder: Encoder, out: int) -> int:
    positions = (encoder.image // encoder.patch) ** 2
    body = _patches(encoder) + encoder.hidden * (1 + positions + 2)
    projector = _linear(encoder.hidden, out) + _linear(out, out)
    newline = out
    return encoder.depth * _plain_block(encoder) + body + projector + newline


def _minicpm(encoder: Encoder, out: int) -> int:
    h = encoder.hidden
    positions = (MINICPM_IMAGE // encoder.patch) ** 2
    body = _patches(encoder) + h * (1 + positions + 2)
    attention = _linear(out, 3 * out) + _linear(out, out)
    resampler = MINICPM_QUERIES * out + h * out + attention + 3 * 2 * out + out * out
    return encoder.depth * _plain_block(encoder) + body + resampler


def _mllama(encoder: Encoder, out: int) -> int:
    h, i = encoder.hidden, encoder.intermediate
    block = 4 * h * h + _linear(h, i) + _linear(i, h) + 4 * h
    positions = (encoder.image // encoder.patch) ** 2 + 1
    tiles = MLLAMA_RATIOS * MLLAMA_TILES * h
    embedded = h + positions * h + 1 + tiles * positions + 2 * (tiles + 1) + 4 * h
    layers = encoder.depth * block + MLLAMA_GLOBAL_LAYERS * (block + 2)
    return layers + _patches(encoder) + embedded + _linear(MLLAMA_FEATURES * h, out)


_ENCODERS = {
    "qwen2": _qwen2,
    "qwen2_5": _qwen2_5,
    "qwen3": _qwen3,
    "internvit": _internvit,
    "siglip": _siglip,
    "minicpm": _minicpm,
    "mllama": _mllama,
}
