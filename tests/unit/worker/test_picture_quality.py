"""What the model sees is as good as a full decode and Lanczos, and lies where it should."""

import io
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from PIL import Image

from tests.photographs import jpeg, photograph, psnr_db
from worker.pictures import Limits, prepare

SIDE = (1600, 1200)
LEAST_DB = 38.0


@dataclass(frozen=True)
class Smaller:
    """A family that sees every picture so many times smaller."""

    times: float

    def model_size(self, width: int, height: int) -> tuple[int, int]:
        return round(width / self.times), round(height / self.times)


taken = cache(photograph)


@cache
def stored(kind: str, subsampling: int = 2) -> bytes:
    image = taken(*SIDE)
    if kind == "JPEG":
        return jpeg(image, subsampling=subsampling)
    file = io.BytesIO()
    image.save(file, kind)
    return file.getvalue()


def in_full(data: bytes, size: tuple[int, int]) -> Image.Image:
    return Image.open(io.BytesIO(data)).convert("RGB").resize(size, Image.Resampling.LANCZOS)


# Just above 2, 4, 8 and 16 is where a smaller decode leaves the least to resize.
@pytest.mark.parametrize("times", [1.2, 1.9, 2.05, 2.8, 4.05, 5.7, 7.9, 8.1, 16.1])
@pytest.mark.parametrize(("kind", "subsampling"), [("JPEG", 0), ("JPEG", 2), ("PNG", 0)])
def test_a_photograph_made_smaller_is_as_good_as_by_full_decode_and_lanczos(
    kind, subsampling, times
):
    data = stored(kind, subsampling)
    prepared = prepare(data, Smaller(times), Limits())
    assert psnr_db(prepared.image, in_full(data, prepared.image.size)) >= LEAST_DB


@pytest.mark.parametrize("times", [1.9, 4.05, 5.7, 8.1, 16.1])
@pytest.mark.parametrize("size", [(1600, 1200), (1599, 1201)])
def test_the_frame_is_not_shifted_by_half_a_pixel(size, times):
    data = jpeg(taken(*size))
    seen = prepare(data, Smaller(times), Limits()).image
    for axis in (0, 1):
        assert abs(shift(seen, in_full(data, seen.size), axis)) < 0.5


def shift(one: Image.Image, other: Image.Image, axis: int) -> float:
    """Pixels by which `one` lies further along `axis`: least squares on the gradient."""
    here, there = (np.asarray(image.convert("L"), float) for image in (one, other))
    slope = np.gradient(there, axis=axis)
    return float(-(slope * (here - there)).sum() / (slope**2).sum())


def test_the_measure_of_shift_sees_a_shift():
    image = photograph(400, 300)
    moved = image.transform(image.size, Image.Transform.AFFINE, (1, 0, -0.5, 0, 1, 0), 3)
    assert 0.4 < shift(moved, image, 1) < 0.8  # edges of a pixel's width look further away
    assert abs(shift(moved, image, 0)) < 0.1
