"""How each family writes its dimensions into config.json, in the layouts of transformers 4 and 5.

A key has a default only where the family's published files leave it out, and it is the one of
transformers' configuration class; anything else that is missing is refused by name.
"""

from collections.abc import Callable
from dataclasses import dataclass

from infra.models.decoders import (
    DecoderKind,
    decoder_of,
    is_tied,
    is_tied_anywhere,
    kind_of,
    text_of,
)
from infra.models.sections import Section
from infra.models.spec import Decoder, Encoder, ImageRule, VisionKind

QWEN2_PIXELS, QWEN3_PIXELS = (3136, 12845056), (65536, 16777216)
WRAPPER = 2  # the tokens that begin and end a picture
PINPOINTS = [[384 * high, 384 * wide] for high in range(1, 7) for wide in range(1, 7)]
MINICPM_DECODERS: dict[str, DecoderKind] = {"2.6": "qwen2", "4.5": "qwen3"}
MOST_SIDE, MOST_TILES = 10**5, 1024  # of a tile in pixels, and of a picture: far above any real
MLLAMA_EXTRA_ROWS = 8  # of the input embedding, for the picture's own token


@dataclass(frozen=True, slots=True)
class Parts:
    """What differs between families; the rest of a `ModelSpec` is read the same way for all."""

    decoder: Decoder
    encoder: Encoder
    image: ImageRule
    boxes: str = "unknown"
    remote_code: bool = False


def read_parts(config: Section, processor: Section) -> Parts:
    """The parts of a model with these files; `processor` is empty when it has no such file."""
    family = config.text("model_type")
    if family not in FAMILIES:
        raise config.refused("model_type", f"is {family!r}; allowed: {', '.join(FAMILIES)}")
    return FAMILIES[family](config, processor)


def _qwen2_vl(config: Section, processor: Section) -> Parts:
    vision = config.needed_section("vision_config")
    hidden = vision.whole("embed_dim", default=1280)
    wide = hidden * vision.whole("mlp_ratio", default=4)
    encoder = _qwen_encoder("qwen2", vision, hidden, wide, depth=32, patch=14)
    decoder = decoder_of(text_of(config), "qwen2", is_tied_anywhere(config))
    return Parts(decoder, encoder, _qwen_image(encoder, processor, QWEN2_PIXELS), "relative_1000")


def _qwen2_5_vl(config: Section, processor: Section) -> Parts:
    vision = config.needed_section("vision_config")
    sizes = vision.whole("hidden_size"), vision.whole("intermediate_size")
    encoder = _qwen_encoder("qwen2_5", vision, *sizes, depth=32, patch=14)
    decoder = decoder_of(text_of(config), "qwen2", is_tied_anywhere(config))
    return Parts(decoder, encoder, _qwen_image(encoder, processor, QWEN2_PIXELS), "model_pixels")


def _qwen3_vl(config: Section, processor: Section) -> Parts:
    vision = config.needed_section("vision_config")
    sizes = vision.whole("hidden_size"), vision.whole("intermediate_size")
    deep = vision.length("deepstack_visual_indexes", default=3)
    encoder = _qwen_encoder("qwen3", vision, *sizes, depth=27, patch=16, deepstack=deep)
    mixture = config.text("model_type") == "qwen3_vl_moe"
    decoder = decoder_of(text_of(config), "qwen3_moe" if mixture else "qwen3", is_tied(config))
    return Parts(decoder, encoder, _qwen_image(encoder, processor, QWEN3_PIXELS), "relative_1000")


def _qwen_encoder(
    kind: VisionKind,
    vision: Section,
    hidden: int,
    intermediate: int,
    depth: int,
    patch: int,
    deepstack: int = 0,
) -> Encoder:
    return Encoder(
        kind=kind,
        depth=vision.whole("depth", default=depth),
        hidden=hidden,
        heads=vision.whole("num_heads", default=16),
        intermediate=intermediate,
        patch=vision.whole("patch_size", "spatial_patch_size", default=patch),
        merge=vision.whole("spatial_merge_size", default=2),
        deepstack=deepstack,
    )


def _qwen_image(encoder: Encoder, processor: Section, pixels: tuple[int, int]) -> ImageRule:
    """Factor and bounds of the processor's own file, in the order in which the worker looks."""
    patch = processor.whole("patch_size", default=encoder.patch)
    merge = processor.whole("merge_size", default=encoder.merge)
    size = processor.section("size") or processor
    low = processor.optional("min_pixels") or size.whole("shortest_edge", default=pixels[0])
    high = processor.optional("max_pixels") or size.whole("longest_edge", default=pixels[1])
    return ImageRule("smart_resize", patch * merge, low, high, wrapper=WRAPPER)


def _internvl_chat(config: Section, _processor: Section) -> Parts:
    """OpenGVLab's own layout, which needs the code that comes with it."""
    vision = config.needed_section("vision_config")
    tile = config.whole(
        "force_image_size", most=MOST_SIDE, default=vision.square("image_size", most=MOST_SIDE)
    )
    dynamic = config.flag("dynamic_image_size", default=False)
    if dynamic:
        config.expect("use_thumbnail", True)
    most = config.whole("max_dynamic_patch", most=MOST_TILES) if dynamic else 1
    text = config.needed_section("llm_config")
    return _internvl(config, vision, text, tile, most, remote_code=True)


def _internvl_hf(config: Section, processor: Section) -> Parts:
    """transformers' own layout of the same weights."""
    vision = config.needed_section("vision_config")
    tile = vision.square("image_size", default=448, most=MOST_SIDE)
    most = processor.whole("max_patches", default=12, most=MOST_TILES)
    return _internvl(config, vision, config.needed_section("text_config"), tile, most)


def _internvl(
    config: Section, vision: Section, text: Section, tile: int, most: int, remote_code: bool = False
) -> Parts:
    config.expect("downsample_ratio", 0.5, default=0.5)
    encoder = _plain_encoder("internvit", vision, tile, merge=2)
    decoder = decoder_of(text, kind_of(text), is_tied(config))
    tokens = (tile // encoder.patch // encoder.merge) ** 2
    image = ImageRule("internvl", tile=tile, tile_tokens=tokens, most_tiles=most, wrapper=WRAPPER)
    return Parts(decoder, encoder, image, remote_code=remote_code)


def _plain_encoder(kind: VisionKind, vision: Section, image: int, merge: int = 1) -> Encoder:
    patch = vision.square("patch_size", default=14)
    if patch * merge > image:
        raise vision.refused("patch_size", f"is {patch}; allowed: up to {image // merge}")
    return Encoder(
        kind=kind,
        depth=vision.whole("num_hidden_layers"),
        hidden=vision.whole("hidden_size"),
        heads=vision.whole("num_attention_heads", "attention_heads"),
        intermediate=vision.whole("intermediate_size"),
        patch=patch,
        merge=merge,
        image=image,
    )


def _llava_onevision(config: Section, _processor: Section) -> Parts:
    config.expect("vision_aspect_ratio", "anyres_max_9", default="anyres_max_9")
    config.expect("image_grid_pinpoints", PINPOINTS, default=PINPOINTS)
    vision, text = config.needed_section("vision_config"), config.needed_section("text_config")
    encoder = _plain_encoder("siglip", vision, vision.square("image_size", most=MOST_SIDE))
    tokens = (encoder.image // encoder.patch) ** 2
    image = ImageRule("anyres", tile=encoder.image, tile_tokens=tokens, most_tiles=9)
    return Parts(decoder_of(text, kind_of(text), is_tied_anywhere(config)), encoder, image)


def _minicpmv(config: Section, processor: Section) -> Parts:
    """Its config.json is that of its decoder; which decoder, only `version` says."""
    kind = MINICPM_DECODERS.get(version := config.text("version"))
    if kind is None:
        allowed = ", ".join(MINICPM_DECODERS)
        raise config.refused("version", f"is {version or 'missing'}; allowed: {allowed}")
    tile = processor.whole(
        "scale_resolution",
        most=MOST_SIDE,
        default=config.square("image_size", default=448, most=MOST_SIDE),
    )
    encoder = _plain_encoder("minicpm", config.needed_section("vision_config"), tile)
    most = processor.whole("max_slice_nums", default=9, most=MOST_TILES)
    tokens = config.whole("query_num", default=64)
    image = ImageRule("minicpm", tile=tile, tile_tokens=tokens, most_tiles=most)
    decoder = decoder_of(config, kind, is_tied(config))
    return Parts(decoder, encoder, image, remote_code=True)


def _mllama(config: Section, _processor: Section) -> Parts:
    vision, text = config.needed_section("vision_config"), config.needed_section("text_config")
    tile = vision.square("image_size", most=MOST_SIDE)
    encoder = _plain_encoder("mllama", vision, tile)
    tokens = (tile // encoder.patch) ** 2 + 1  # one of its own for the tile
    most = vision.whole("max_num_tiles", default=4, most=MOST_TILES)
    image = ImageRule("cross_attention", tile=tile, tile_tokens=tokens, most_tiles=most)
    cross = text.length("cross_attention_layers")
    decoder = decoder_of(text, "llama", is_tied(config), cross, MLLAMA_EXTRA_ROWS)
    return Parts(decoder, encoder, image)


FAMILIES: dict[str, Callable[[Section, Section], Parts]] = {
    "qwen2_vl": _qwen2_vl,
    "qwen2_5_vl": _qwen2_5_vl,
    "qwen3_vl": _qwen3_vl,
    "qwen3_vl_moe": _qwen3_vl,
    "internvl_chat": _internvl_chat,
    "internvl": _internvl_hf,
    "llava_onevision": _llava_onevision,
    "minicpmv": _minicpmv,
    "mllama": _mllama,
}
