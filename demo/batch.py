"""A batch of held-out pictures: files as cameras would leave them, with the truth beside them."""

import io
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from demo.parts import Part, draw_part

# Width, height and share of the pictures that each camera makes.
CAMERAS = (
    ((1280, 960), 0.34),
    ((1920, 1080), 0.20),
    ((800, 800), 0.14),
    ((640, 480), 0.12),
    ((960, 1280), 0.08),
    ((1500, 1000), 0.08),
    ((1280, 1024), 0.04),
)
PNG_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture file and what is truly on it."""

    name: str
    body: bytes
    part: Part

    @property
    def media_type(self) -> str:
        return "image/png" if self.name.endswith(".png") else "image/jpeg"


def shots(count: int, first_seed: int) -> Iterator[Shot]:
    """`count` pictures from `first_seed` on; training draws none of the seeds below a million."""
    return (_shot(index, first_seed + index) for index in range(count))


def _shot(index: int, seed: int) -> Shot:
    rng = np.random.default_rng([seed, 1])
    sizes, shares = zip(*CAMERAS, strict=True)
    width, height = sizes[rng.choice(len(sizes), p=shares)]
    part = draw_part(seed, width, height)
    body = io.BytesIO()
    if rng.random() < PNG_SHARE:
        part.image.save(body, "PNG", compress_level=1)
        return Shot(f"{index:05d}.png", body.getvalue(), part)
    part.image.save(body, "JPEG", quality=int(rng.integers(80, 96)))
    return Shot(f"{index:05d}.jpg", body.getvalue(), part)
