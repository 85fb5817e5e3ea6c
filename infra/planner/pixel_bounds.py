"""A job's pixel bounds, as the planner counts with them and as the engine takes them.

Only models that keep a picture's own size take bounds in pixels. InternVL takes a number of tiles,
so there `max_pixels` becomes one; models with tiles of another kind take none and refuse them.
"""

from infra.errors import PlanRefused
from infra.models.spec import ModelSpec

MOST_PIXELS = 10**10  # 12 million tokens: more than any model takes
MOST_TILES = 1024
# How vLLM 0.29 calls InternVL's bound, by the layout of the checkpoint.
TILE_SETTINGS = {"internvl_chat": "max_dynamic_patch", "internvl": "max_patches"}


def pixel_settings(
    spec: ModelSpec, min_pixels: int | None = None, max_pixels: int | None = None
) -> dict[str, int]:
    """The bounds for the engine's `mm_processor_kwargs`; empty when none are set."""
    if spec.image.rule == "internvl":
        tiles = most_tiles(spec, min_pixels, max_pixels)
        return {} if max_pixels is None else {TILE_SETTINGS[spec.family]: tiles}
    if spec.image.rule != "smart_resize":
        refuse_bounds(spec, min_pixels, max_pixels)
        return {}
    pixel_bounds(spec, min_pixels, max_pixels)
    pixels = {"min_pixels": min_pixels, "max_pixels": max_pixels}
    return {name: value for name, value in pixels.items() if value is not None}


def pixel_bounds(
    spec: ModelSpec, min_pixels: int | None, max_pixels: int | None
) -> tuple[int, int]:
    """Least and most pixels of a picture: the job's, else the model's own."""
    step = spec.image.factor**2
    _refuse_below(1, "min_pixels", min_pixels)
    _refuse_below(step, "max_pixels", max_pixels)
    low = spec.image.min_pixels if min_pixels is None else min_pixels
    high = spec.image.max_pixels if max_pixels is None else max_pixels
    assert low is not None, "a model that keeps a picture's size has bounds of its own"
    assert high is not None, "a model that keeps a picture's size has bounds of its own"
    _refuse_above(MOST_PIXELS, "min_pixels", low)
    _refuse_above(MOST_PIXELS, "max_pixels", high)
    if low > high:
        raise PlanRefused(
            f"image: every picture would be grown to min_pixels {low} and shrunk to max_pixels "
            f"{high}; allowed: min <= max ({spec.name} has {spec.image.min_pixels} and "
            f"{spec.image.max_pixels} where the job says nothing)"
        )
    return low, high


def most_tiles(spec: ModelSpec, min_pixels: int | None, max_pixels: int | None) -> int:
    """The most tiles of a picture, without its overview, that cover no more than `max_pixels`."""
    refuse_bounds(spec, min_pixels)
    tile = spec.image.tile**2
    _refuse_below(tile, "max_pixels", max_pixels)
    _refuse_above(MOST_TILES * tile, "max_pixels", max_pixels)
    return spec.image.most_tiles if max_pixels is None else max_pixels // tile


def refuse_bounds(
    spec: ModelSpec, min_pixels: int | None = None, max_pixels: int | None = None
) -> None:
    for name, value in (("min_pixels", min_pixels), ("max_pixels", max_pixels)):
        if value is not None:
            raise PlanRefused(
                f"image.{name}: {spec.name} cuts pictures into tiles of {spec.image.tile} pixels "
                "and takes no such bound; allowed: none"
            )


def _refuse_above(most: int, name: str, value: int | None) -> None:
    if value is not None and value > most:
        raise PlanRefused(f"image.{name}: found {value:,}; allowed: up to {most:,}")


def _refuse_below(least: int, name: str, value: int | None) -> None:
    if value is not None and value < least:
        raise PlanRefused(f"image.{name}: found {value}; allowed: {least} and more")
