"""Grey of 16 bits, wider integers and floating point become 8 bits, without clipping it to white.

In strips, so that a picture of 100 megapixels is never held as 8-byte numbers.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from PIL import Image

STRIP_PIXELS = 1 << 20
OVERSHOOT = 1.5  # of nominal white in floating point: sharpening and resampling overshoot
PHOTOMETRIC, WHITE_IS_ZERO = 262, 0


def is_wide(image: Image.Image) -> bool:
    """Whether one value of the loaded picture has more than 8 bits."""
    return image.mode.startswith(("I", "F"))


def was_deep(tiles: Sequence[Any]) -> bool:
    """Whether Pillow reads more than 8 bits a value, of which it keeps 8.

    tiles   what Pillow is about to read: their arguments are a raw mode, or of a PPM also its top
    """
    said = str([tile.args for tile in tiles])
    tops = [tile.args[1] for tile in tiles if tile.codec_name == "ppm"]
    return any(mark in said for mark in (";16", ";12", ";10")) or any(top > 255 for top in tops)


def to_8_bits(image: Image.Image, stored: Sequence[Any] = ()) -> Image.Image:
    """`L`, or `LA` where a value stands for transparent; `stored` is how the file holds pixels."""
    white = _white(image, str(stored))
    out = np.empty((image.height, image.width), np.uint8)
    clear = image.info.get("transparency")
    mask = np.full_like(out, 255) if isinstance(clear, int) else None
    for top, values in _strips(image):
        rows = slice(top, top + len(values))
        out[rows] = _scaled(values, white)
        if mask is not None:
            mask[rows][values == clear] = 0
    if _white_is_zero(image):
        np.subtract(255, out, out=out)
    grey = Image.fromarray(out)
    return grey if mask is None else Image.merge("LA", (grey, Image.fromarray(mask)))


def _strips(image: Image.Image) -> Iterator[tuple[int, np.ndarray]]:
    rows = max(1, STRIP_PIXELS // image.width)
    for top in range(0, image.height, rows):
        strip = image.crop((0, top, image.width, min(top + rows, image.height)))
        yield top, np.asarray(strip)


def _scaled(values: np.ndarray, white: float) -> np.ndarray:
    shares = np.nan_to_num(values.astype(np.float32) / white, nan=0, posinf=1, neginf=0)
    scaled: np.ndarray = (np.clip(shares, 0, 1) * 255 + 0.5).astype(np.uint8)
    return scaled


def _white(image: Image.Image, stored: str) -> float:
    """The value that is white. Wider numbers do not say: the first usual one that none exceeds."""
    if "I;12" in stored:
        return 4095.0
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format == "PPM"):
        return 65535.0
    top = max(_top(values) for _, values in _strips(image))
    if image.mode == "F" and top <= OVERSHOOT:
        return 1.0
    return next((white for white in (255.0, 65535.0) if top <= white), top)


def _top(values: np.ndarray) -> float:
    return float(values[np.isfinite(values)].max(initial=0))


def _white_is_zero(image: Image.Image) -> bool:
    """Pillow turns such TIFFs around when they have 8 bits, and not when they have more."""
    tags = getattr(image, "tag_v2", None)
    return tags is not None and tags.get(PHOTOMETRIC) == WHITE_IS_ZERO
