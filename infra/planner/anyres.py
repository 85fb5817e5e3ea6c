"""LLaVA-OneVision's rule: tiles of the best of 36 canvases, the padding taken off again.

Sources: processing_llava_onevision.py of transformers 5.24 and llava_onevision.py of vLLM 0.29.
"""

import math
from collections.abc import Iterator

from infra.models.spec import ModelSpec
from infra.planner.picture import ImageTokens

PINPOINTS = [(rows, columns) for rows in range(1, 7) for columns in range(1, 7)]
TOLERANCE = 1.1  # features are thinned out only when a side has this much too many
PRECISION = 7  # digits after which the processor itself rounds, before it cuts off


def tile_anyres(spec: ModelSpec, width: int, height: int) -> ImageTokens:
    """The base picture, the features of its tiles without padding, and a newline for each row."""
    rows, columns = _best_canvas(width, height, spec.image.tile)
    side = spec.image.tile // spec.encoder.patch
    features = _unpadded(width, height, columns * side, rows * side)
    return _as_tokens(spec, rows, columns, _features(*features, spec))


def largest_anyres(spec: ModelSpec) -> ImageTokens:
    """The most tokens that a picture can take, over all canvases and paddings.

    For the published settings these are 8,765 (a picture of 950 x 1158), more than the 7,371 of
    nine full tiles: features are thinned out only when a side has 1.1 times too many.
    """
    side = spec.image.tile // spec.encoder.patch
    found = (
        _as_tokens(spec, rows, columns, _features(wide, high, spec))
        for rows, columns in PINPOINTS
        for wide, high in _paddings(columns * side, rows * side, side)
    )
    return max(found, key=lambda picture: (picture.tokens, picture.patches))


def _as_tokens(spec: ModelSpec, rows: int, columns: int, features: int) -> ImageTokens:
    tile, tiles = spec.image.tile, rows * columns + 1
    base = spec.image.tile_tokens
    return ImageTokens(tiles * base, base + features, columns * tile, rows * tile, tiles)


def _best_canvas(width: int, height: int, tile: int) -> tuple[int, int]:
    """(rows, columns) of the canvas that keeps the most of the picture and wastes the least."""

    def worth(pinpoint: tuple[int, int]) -> tuple[int, int]:
        high, wide = pinpoint[0] * tile, pinpoint[1] * tile
        scale = min(wide / width, high / height)
        kept = min(int(width * scale) * int(height * scale), width * height)
        return kept, kept - wide * high

    return max(PINPOINTS, key=worth)


def _unpadded(width: int, height: int, wide: int, high: int) -> tuple[int, int]:
    """Features on a side, once the canvas's bars beside the picture are taken off."""
    if width / height > wide / high:
        bars = high - int(round(height * (wide / width), PRECISION))
        return wide, high - bars // 2 * 2
    bars = wide - int(round(width * (high / height), PRECISION))
    return wide - bars // 2 * 2, high


def _paddings(wide: int, high: int, side: int) -> Iterator[tuple[int, int]]:
    """Features on a side that a canvas can be left with: bars lie beside or above, never both.

    With bars wider than a tile another canvas would have been better.
    """
    for bars in range(0, side, 2):
        yield wide - bars, high
        yield wide, high - bars


def _features(wide: int, high: int, spec: ModelSpec) -> int:
    """Features and newlines, thinned out when there are many more than `most_tiles` hold."""
    excess = math.sqrt(wide * high / (spec.image.most_tiles * spec.image.tile_tokens))
    if excess > TOLERANCE:
        wide, high = int(wide // excess), int(high // excess)
    return wide * high + high
