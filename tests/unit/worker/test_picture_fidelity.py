"""What is easily lost on the way: depth, profiles under alpha, half pixels, and other threads."""

import io
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image

from worker.families import QWEN_MAX_PIXELS, QWEN_MIN_PIXELS, Family
from worker.pictures import Limits, Prepared, prepare
from worker.pictures.stills import ORIENTATION_TAG

SIDE = 256
AS_IS = Family(32, SIDE * SIDE, SIDE * SIDE, "model_pixels")  # seen as they are: no resize
SMALL = Family(28, 32 * 28 * 28, 48 * 28 * 28, "model_pixels")
LARGE = Family(28, QWEN_MIN_PIXELS, QWEN_MAX_PIXELS, "model_pixels")


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def seen(data: bytes, family: Family = AS_IS) -> Prepared:
    return prepare(data, family, Limits())


def ramp(top: float) -> np.ndarray:
    return np.linspace(0, top, SIDE * SIDE).reshape(SIDE, SIDE)


@pytest.mark.parametrize("top", [1, 255, 65535, 1e6])
@pytest.mark.parametrize("kind", [np.float32, np.int32])
def test_wide_grey_is_scaled_and_never_clipped(top, kind):
    if top == 1 and kind is np.int32:
        top = 200
    pixels = np.asarray(seen(saved(Image.fromarray(ramp(top).astype(kind)), "TIFF")).image)
    assert len(np.unique(pixels)) >= 200
    assert (pixels == 255).mean() < 0.05


def test_one_infinite_value_does_not_turn_the_rest_black():
    values = ramp(1.0).astype(np.float32)
    values[0, :3] = (np.nan, np.inf, -np.inf)
    pixels = np.asarray(seen(saved(Image.fromarray(values), "TIFF")).image)
    assert pixels[0, :3, 0].tolist() == [0, 255, 0]
    assert pixels.mean() == pytest.approx(127.5, abs=1)


def test_a_dark_picture_of_sixteen_bits_stays_dark_in_every_format():
    dark = ramp(200).astype("<u2")
    as_png = saved(Image.frombytes("I;16", (SIDE, SIDE), dark.tobytes()), "PNG")
    as_pgm = f"P5 {SIDE} {SIDE} 65535\n".encode() + dark.astype(">u2").tobytes()
    assert np.asarray(seen(as_png).image).max() <= 1
    assert np.asarray(seen(as_pgm).image).max() <= 1


@pytest.mark.parametrize("mode", ["L", "RGB", "LA", "RGBA"])
def test_an_unusable_profile_is_noted_with_and_without_alpha(mode):
    image = Image.new("RGB", (SIDE, SIDE), (99, 99, 99)).convert(mode)
    prepared = seen(saved(image, "PNG", icc_profile=b"not a profile"))
    assert prepared.warnings == ("icc_unusable",)
    assert prepared.image.getpixel((9, 9)) == (99, 99, 99)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("width", [1793, 1801, 2001, 2999])
def test_a_jpeg_decoded_smaller_does_not_shift(width, orientation):
    grey = np.zeros((width * 3 // 4, width), np.uint8)
    grey[-60:-20, :] = grey[:, -60:-20] = 255  # near the rims that a smaller decode rounds up
    exif = Image.Exif()
    exif[ORIENTATION_TAG] = orientation
    image = Image.fromarray(grey).convert("RGB")
    drafted = seen(saved(image, "JPEG", quality=98, exif=exif), SMALL).image
    whole = seen(saved(image, "PNG", exif=exif), SMALL).image
    for axis in (0, 1):
        assert centre(drafted, axis) == pytest.approx(centre(whole, axis), abs=0.25)


def centre(image: Image.Image, axis: int) -> float:
    """Where the bright strip lies, from the sums of rows or columns around the brightest."""
    sums = np.asarray(image.convert("L"), float).sum(axis)
    at = np.arange(sums.size)
    near = abs(at - sums.argmax()) <= 6
    weights = np.clip(sums - np.median(sums), 0, None) * near
    return float((weights * at).sum() / weights.sum())


def test_many_threads_leave_the_processs_warnings_alone():
    data = saved(Image.fromarray(ramp(255).astype(np.uint8)), "JPEG")
    before = list(warnings.filters)
    with ThreadPoolExecutor(4) as threads:
        done = list(threads.map(lambda _: seen(data, LARGE), range(40)))
    assert len(done) == 40
    assert list(warnings.filters) == before
