"""Image tokens: what pictures cost a model, at their real size and within the job's pixel bounds.

Patches of the vision encoder and tokens of the language decoder are two numbers and keep their own
names: 512 x 512 is 1,296 patches of Qwen2.5-VL, and 324 tokens. Each family has a rule; this module
picks it, and sums it up over the pictures of a job.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from infra.errors import PlanRefused
from infra.models.spec import ModelSpec
from infra.planner.anyres import largest_anyres, tile_anyres
from infra.planner.picture import ImageTokens
from infra.planner.pixel_bounds import most_tiles, pixel_bounds, refuse_bounds
from infra.planner.smart_resize import is_too_long, largest_resized, resize_picture
from infra.planner.tiling import slice_minicpm, tile_canvas, tile_internvl

__all__ = [
    "ImageTokens",
    "Reduction",
    "TokenDistribution",
    "count_image_tokens",
    "distribution",
    "largest_image_tokens",
    "reductions",
    "usable",
]

FIRST_STEP = 256  # tokens of the lowest bound that is tried for a picture that keeps its size


@dataclass(frozen=True, slots=True)
class TokenDistribution:
    """Language tokens of `count` pictures, ranks by nearest rank; mean patches and tiles.

    too_long    pictures left out, as the model refuses their aspect ratio: the worker will too
    """

    count: int
    min: int
    median: int
    p95: int
    max: int
    mean: float
    patches_mean: float
    tiles_mean: float
    too_long: int = 0


@dataclass(frozen=True, slots=True)
class Reduction:
    """What a lower bound saves: a picture's mean tokens under it, and the share that is gone."""

    max_pixels: int
    mean_tokens: float
    saved: float


def count_image_tokens(
    spec: ModelSpec,
    width: int,
    height: int,
    min_pixels: int | None = None,
    max_pixels: int | None = None,
) -> ImageTokens:
    """Patches and tokens of a `width` x `height` picture; `PlanRefused` when it has none."""
    if width <= 0 or height <= 0:
        raise PlanRefused(f"image: {width}x{height} has no pixels; allowed: 1x1 and more")
    match spec.image.rule:
        case "smart_resize":
            return resize_picture(spec, width, height, *pixel_bounds(spec, min_pixels, max_pixels))
        case "internvl":
            return tile_internvl(spec, width, height, most_tiles(spec, min_pixels, max_pixels))
    refuse_bounds(spec, min_pixels, max_pixels)
    match spec.image.rule:
        case "anyres":
            return tile_anyres(spec, width, height)
        case "minicpm":
            return slice_minicpm(spec, width, height)
        case "cross_attention":
            return tile_canvas(spec, width, height)


def largest_image_tokens(
    spec: ModelSpec, min_pixels: int | None = None, max_pixels: int | None = None
) -> ImageTokens:
    """The picture of the most tokens that the processor can make, over all sizes and ratios.

    The engine's encoder budget is sized for it.
    """
    match spec.image.rule:
        case "smart_resize":
            return largest_resized(spec, *pixel_bounds(spec, min_pixels, max_pixels))
        case "anyres":
            refuse_bounds(spec, min_pixels, max_pixels)
            return largest_anyres(spec)
        case "internvl":
            tiles = most_tiles(spec, min_pixels, max_pixels)
        case _:
            tiles = spec.image.most_tiles
    # A picture that is one tile wide and so many high is cut into just those.
    tile = spec.image.tile
    return count_image_tokens(spec, tile, tile * tiles, min_pixels, max_pixels)


def distribution(
    spec: ModelSpec,
    sizes: Sequence[tuple[int, int]],
    min_pixels: int | None = None,
    max_pixels: int | None = None,
) -> TokenDistribution:
    """The tokens of pictures of these sizes; `PlanRefused` when not one can be counted."""
    pictures = [
        count_image_tokens(spec, *size, min_pixels, max_pixels) for size in usable(spec, sizes)
    ]
    tokens = sorted(picture.tokens for picture in pictures)
    return TokenDistribution(
        count=len(tokens),
        min=tokens[0],
        median=_at_rank(tokens, 50),
        p95=_at_rank(tokens, 95),
        max=tokens[-1],
        mean=statistics.fmean(tokens),
        patches_mean=statistics.fmean(picture.patches for picture in pictures),
        tiles_mean=statistics.fmean(picture.tiles for picture in pictures),
        too_long=len(sizes) - len(tokens),
    )


def reductions(
    spec: ModelSpec,
    sizes: Sequence[tuple[int, int]],
    steps: Sequence[int] | None = None,
    min_pixels: int | None = None,
    max_pixels: int | None = None,
) -> tuple[Reduction, ...]:
    """What lower `max_pixels` would save, the lowest first; nothing where a model takes no bound.

    Without `steps`, bounds of 256, 512, 1024 ... tokens are tried, or of 1, 2, 4 ... tiles.
    """
    now = distribution(spec, sizes, min_pixels, max_pixels).mean
    found = []
    for step in _steps(spec, now) if steps is None else sorted(steps):
        if step < (min_pixels or spec.image.min_pixels or 1):
            continue  # every picture is grown beyond it
        mean = distribution(spec, sizes, min_pixels, step).mean
        if mean < now:
            found.append(Reduction(step, mean, 1 - mean / now))
    return tuple(found)


def usable(spec: ModelSpec, sizes: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The pictures that the model takes. If it takes none, the first, to be refused by name."""
    if not sizes:
        raise PlanRefused("image: no picture size is known; allowed: one size or more")
    if spec.image.rule != "smart_resize":
        return list(sizes)
    return [size for size in sizes if not is_too_long(*size)] or [sizes[0]]


def _at_rank(ordered: Sequence[int], percent: int) -> int:
    """The lowest of `ordered` that `percent` of them do not exceed."""
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def _steps(spec: ModelSpec, most_tokens: float) -> list[int]:
    """Bounds in pixels, each twice the last, that hold fewer than `most_tokens`."""
    rule = spec.image
    if rule.rule == "smart_resize":
        first, step_tokens = FIRST_STEP * rule.factor**2, FIRST_STEP
    elif rule.rule == "internvl":
        first, step_tokens = rule.tile**2, rule.tile_tokens
    else:
        return []
    doublings = range(64)
    return [first << n for n in doublings if step_tokens << n < most_tokens]
