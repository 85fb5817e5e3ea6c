"""A small picture of what was decoded, kept for the report: the worker has it in hand, and nobody
else has to fetch it again.

Usually it is what the model sees, made smaller. Where a model sees less than people want to look
at, a file that is quick to decode is decoded once more, larger; what the model sees stays the same.
"""

import io

from PIL import Image

from jobs.rows import ImageFacts
from jobs.thumbs import LEAST_SIDE, SIDES
from worker.families import Family
from worker.pictures import Prepared

QUALITY, METHOD = 60, 2  # of WebP: about a third of a JPEG that looks the same, in a few ms
# Formats that are quick to decode, up to so many pixels: some 0.1 s. A JPEG is decoded smaller.
QUICK = {"jpeg": 50 << 20, "mpo": 50 << 20, "png": 4 << 20, "webp": 4 << 20, "bmp": 4 << 20}
MUCH = 1.2  # times as long, at least, or it is not worth it


def small(picture: Prepared, side: int) -> bytes:
    """A WebP of `picture`, upright and in the proportions of the original, never enlarged.

    `side` is of the longer one, in pixels; less where it would take more bytes than it may.
    """
    for smaller in (each for each in (*SIDES, LEAST_SIDE) if each <= side):
        body = _encoded(picture, smaller)
        if len(body) <= SIDES.get(smaller, len(body)):
            break
    return body


def closer_look(picture: Prepared, side: int) -> Family | None:
    """How to decode its file for people: as for a model that sees more; None: not worth it."""
    facts, seen = picture.facts, max(picture.image.size)
    width, height = _within(facts, side)
    is_quick = facts.width * facts.height <= QUICK.get(facts.format, 0)
    if side <= LEAST_SIDE or not is_quick or max(width, height) < MUCH * seen:
        return None
    return Family(factor=1, min_pixels=1, max_pixels=width * height, boxes="model_pixels")


def _encoded(picture: Prepared, side: int) -> bytes:
    file = io.BytesIO()
    size = _within(picture.facts, min(side, max(picture.image.size)))
    shrunk = picture.image.resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0)
    shrunk.save(file, "WEBP", quality=QUALITY, method=METHOD)
    return file.getvalue()


def _within(facts: ImageFacts, side: int) -> tuple[int, int]:
    """The original's size, its longer side at most `side`."""
    scale = min(1.0, side / max(facts.width, facts.height))
    return max(1, round(facts.width * scale)), max(1, round(facts.height * scale))
