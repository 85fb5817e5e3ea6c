"""Qwen's rule: a picture keeps its own size, snapped onto a grid and held within pixel bounds.

It has to give what the worker's decoder gives, to the pixel; a test holds the two together.
Source: image_processing_qwen2_vl.py of transformers 5.24.
"""

import math
from collections.abc import Callable, Iterator

from infra.errors import PlanRefused
from infra.models.spec import ModelSpec
from infra.planner.picture import ImageTokens

MOST_EXTREME_RATIO = 200


def resize_picture(spec: ModelSpec, width: int, height: int, low: int, high: int) -> ImageTokens:
    """The picture with both sides snapped, between `low` and `high` pixels wherever it can be.

    `PlanRefused` for pictures that are more than 200 times as long as wide.
    """
    if is_too_long(width, height):
        raise PlanRefused(
            f"image: {width}x{height} is more than {MOST_EXTREME_RATIO} times as long as wide, "
            f"which {spec.name} refuses; allowed: up to {MOST_EXTREME_RATIO} times"
        )
    factor = spec.image.factor
    columns, rows = (_steps(side, factor, round) for side in (width, height))  # 0: grown below
    area = columns * rows * factor**2
    if area > high:
        shrink = math.sqrt(width * height / high)
        columns, rows = (
            max(1, _steps(side / shrink, factor, math.floor)) for side in (width, height)
        )
    elif area < low:
        grow = math.sqrt(low / (width * height))
        columns, rows = (_steps(side * grow, factor, math.ceil) for side in (width, height))
    return _as_tokens(spec, columns, rows)


def largest_resized(spec: ModelSpec, low: int, high: int) -> ImageTokens:
    """The most tokens that a picture can take, over all aspect ratios.

    Most often that is the grid nearest to a square of as many tokens as `high` holds. A long thin
    picture can go above `high`, as no side is made shorter than one step: it counts where `high` is
    below 200 squared steps. For pictures that are grown to `low` this is an upper bound.
    """
    step = spec.image.factor**2
    grids = [_fullest_grid(high // step), _longest_line(high, step), *_grown_grids(low, step)]
    return _as_tokens(spec, *max(grids, key=math.prod))


def is_too_long(width: int, height: int) -> bool:
    return max(width, height) > MOST_EXTREME_RATIO * min(width, height) > 0


def _steps(side: float, factor: int, rounding: Callable[[float], int]) -> int:
    return int(rounding(side / factor))


def _as_tokens(spec: ModelSpec, columns: int, rows: int) -> ImageTokens:
    factor, tokens = spec.image.factor, columns * rows
    return ImageTokens(tokens * spec.encoder.merge**2, tokens, columns * factor, rows * factor)


def _fullest_grid(most: int) -> tuple[int, int]:
    """The grid of the most cells, up to `most`, that some picture has. Sides are rounded down by up
    to half a step, so a grid can be a little longer than a picture may be."""
    for cells in range(most, 0, -1):
        for columns in range(math.isqrt(cells), 0, -1):
            if cells % columns == 0:
                if cells // columns <= MOST_EXTREME_RATIO * (columns + 0.5):
                    return columns, cells // columns
                break
    return 1, 1


def _longest_line(high: int, step: int) -> tuple[int, int]:
    """Of the pictures that are shrunk to one step's width, the longest."""
    return 1, max(1, math.isqrt(MOST_EXTREME_RATIO * high // step))


def _grown_grids(low: int, step: int) -> Iterator[tuple[int, int]]:
    """Small pictures, grown until each side is rounded up: by width, the highest."""
    highest = math.isqrt(MOST_EXTREME_RATIO * low // step) + 1
    yield 1, highest
    for columns in range(2, math.isqrt(low // step) + 2):
        yield columns, min(highest, math.ceil(low / ((columns - 1) * step)))
