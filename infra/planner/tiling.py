"""Rules that lay a picture over a grid of equal tiles: InternVL, MiniCPM-V and Llama 3.2 Vision.

Sources: vLLM 0.29 (processors/internvl.py, models/minicpmv.py), and of transformers 5.24
image_processing_mllama.py and image_processing_minicpmv4_6.py.
"""

import math
from collections.abc import Iterator
from functools import cache

from infra.models.spec import ModelSpec
from infra.planner.picture import ImageTokens

MINICPM_LONE = (1, 1)  # the picture as its own overview, not sliced


def tile_internvl(spec: ModelSpec, width: int, height: int, most_tiles: int) -> ImageTokens:
    """Tiles of the grid whose aspect ratio is nearest, and an overview if there are several."""
    columns, rows = _nearest_grid(width, height, spec.image.tile, most_tiles)
    tiles = columns * rows + (columns * rows > 1)
    return _tiled(spec, columns, rows, tiles)


def tile_canvas(spec: ModelSpec, width: int, height: int) -> ImageTokens:
    """Llama 3.2: the smallest canvas that enlarges the picture least, else shrinks it least.

    Tokens are states for its cross-attention layers: one a patch and one of each tile.
    """
    rule = spec.image
    columns, rows = min(
        _grids(rule.most_tiles), key=lambda grid: _canvas_rank(grid, width, height, rule.tile)
    )
    return _tiled(spec, columns, rows, columns * rows, in_prompt=False)


def slice_minicpm(spec: ModelSpec, width: int, height: int) -> ImageTokens:
    """An overview, and slices once the picture is larger than one; each has the same tokens.

    Slices and overview keep about the area of a tile but not its shape, so their patches differ.
    """
    tile, patch = spec.image.tile, spec.encoder.patch
    columns, rows = _slices(width, height, tile, spec.image.most_tiles)
    alone = (columns, rows) == MINICPM_LONE
    overview = _fitted(width, height, tile, patch, enlarge=alone)
    if alone:
        return ImageTokens(_patches(overview, patch), spec.image.tile_tokens, *overview)
    one = (_divided(width, columns) / columns, _divided(height, rows) / rows)
    part, tiles = _fitted(*one, tile, patch, enlarge=True), columns * rows + 1
    patches = _patches(overview, patch) + columns * rows * _patches(part, patch)
    size = part[0] * columns, part[1] * rows
    return ImageTokens(patches, tiles * spec.image.tile_tokens, *size, tiles)


def _tiled(
    spec: ModelSpec, columns: int, rows: int, tiles: int, in_prompt: bool = True
) -> ImageTokens:
    rule = spec.image
    patches = tiles * (rule.tile // spec.encoder.patch) ** 2
    size = columns * rule.tile, rows * rule.tile
    return ImageTokens(patches, tiles * rule.tile_tokens, *size, tiles, in_prompt)


@cache
def _grids(most: int) -> tuple[tuple[int, int], ...]:
    """Every grid (columns, rows) of at most `most` tiles, the smallest first."""
    sides = range(1, most + 1)
    fitting = [(c, r) for c in sides for r in range(1, most // c + 1)]
    return tuple(sorted(fitting, key=math.prod))


def _nearest_grid(width: int, height: int, tile: int, most: int) -> tuple[int, int]:
    """Of equally near grids the largest that the picture fills by half."""
    ratio, best, best_gap = width / height, (1, 1), math.inf
    for columns, rows in _grids(most):
        gap = abs(ratio - columns / rows)
        filled = width * height > 0.5 * tile**2 * columns * rows
        if gap < best_gap or (gap == best_gap and filled):
            best, best_gap = (columns, rows), gap
    return best


def _canvas_rank(
    grid: tuple[int, int], width: int, height: int, tile: int
) -> tuple[bool, float, int]:
    scale = min(grid[0] * tile / width, grid[1] * tile / height)
    return scale < 1, scale if scale >= 1 else -scale, math.prod(grid)


def _slices(width: int, height: int, tile: int, most: int) -> tuple[int, int]:
    """About as many slices as tiles would cover the picture, nearest to its aspect ratio."""
    wanted = min(math.ceil(width * height / tile**2), most)
    if wanted <= 1:
        return MINICPM_LONE
    counts = [count for count in (wanted - 1, wanted, wanted + 1) if 1 < count <= most]
    ratio = math.log(width / height)
    candidates = (grid for count in counts for grid in _exact_grids(count))
    return min(candidates, key=lambda grid: abs(ratio - math.log(grid[0] / grid[1])))


def _exact_grids(count: int) -> Iterator[tuple[int, int]]:
    return ((c, count // c) for c in range(1, count + 1) if count % c == 0)


def _fitted(width: float, height: float, tile: int, patch: int, enlarge: bool) -> tuple[int, int]:
    """The size at which the encoder sees it: about a tile's area, whole patches on both sides."""
    if enlarge or width * height > tile**2:
        ratio = width / height
        height = int(tile / math.sqrt(ratio))
        width = int(height * ratio)
    return _divided(width, patch), _divided(height, patch)


def _divided(side: float, by: int) -> int:
    return max(round(side / by) * by, by)


def _patches(size: tuple[int, int], patch: int) -> int:
    return (size[0] // patch) * (size[1] // patch)
