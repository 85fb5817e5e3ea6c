"""Language decoders as their config.json writes them: nested in `text_config`, or flat."""

from typing import Literal

from infra.models.sections import Section
from infra.models.spec import Decoder, Experts

DecoderKind = Literal["qwen2", "qwen3", "qwen3_moe", "llama"]
DECODERS: tuple[DecoderKind, ...] = ("qwen2", "qwen3", "qwen3_moe")


def text_of(config: Section) -> Section:
    """The decoder's own section; the whole file where its layout is flat."""
    return config.section("text_config") or config


def is_tied(config: Section) -> bool:
    """Whether input embedding and output head are one; the whole model's word comes first."""
    return config.flag("tie_word_embeddings", _is_tied_inside(config))


def is_tied_anywhere(config: Section) -> bool:
    """As `is_tied`, for families that transformers 4 wrote with a no outside and a yes inside."""
    return config.flag("tie_word_embeddings", default=False) or _is_tied_inside(config)


def _is_tied_inside(config: Section) -> bool:
    inside = config.section("llm_config") or text_of(config)
    return inside.flag("tie_word_embeddings", default=False)


def kind_of(text: Section) -> DecoderKind:
    """The kind of a decoder that is a model of its own inside another one."""
    found = text.text("model_type")
    for kind in DECODERS:
        if found == kind:
            return kind
    raise text.refused("model_type", f"is {found!r}; allowed: {', '.join(DECODERS)}")


def decoder_of(
    text: Section, kind: DecoderKind, tied: bool, cross_layers: int = 0, extra_rows: int = 0
) -> Decoder:
    """The decoder of a section; refused by key when a dimension is missing or does not fit."""
    hidden, heads = text.whole("hidden_size"), text.whole("num_attention_heads")
    kv_heads = text.whole("num_key_value_heads")
    if heads % kv_heads:
        raise text.refused("num_key_value_heads", f"is {kv_heads}; allowed: a divisor of {heads}")
    if hidden % heads and text.optional("head_dim") is None:
        raise text.refused("num_attention_heads", f"is {heads}; allowed: a divisor of {hidden}")
    return Decoder(
        layers=text.whole("num_hidden_layers"),
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=text.whole("head_dim", default=hidden // heads),
        intermediate=text.whole("intermediate_size"),
        vocab=text.whole("vocab_size"),
        tied=tied,
        qkv_bias=kind == "qwen2",
        qk_norm=kind.startswith("qwen3"),
        max_position=text.optional("max_position_embeddings"),
        experts=_experts(text) if kind == "qwen3_moe" else None,
        cross_layers=cross_layers,
        extra_rows=extra_rows,
    )


def _experts(text: Section) -> Experts:
    """Experts in every layer: the planner knows no mixture that is only in some."""
    text.expect("decoder_sparse_step", 1, default=1)
    text.expect("mlp_only_layers", [], default=[])
    return Experts(
        count=text.whole("num_experts", "num_local_experts"),
        active=text.whole("num_experts_per_tok"),
        intermediate=text.whole("moe_intermediate_size"),
    )
