"""Orientation and size: the model sees the picture upright, and exactly at its own size."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from worker.families import QWEN_MAX_PIXELS, QWEN_MIN_PIXELS, Family
from worker.pictures import Limits, Prepared, prepare, stills
from worker.pictures.colours import to_srgb
from worker.pictures.stills import ORIENTATION_TAG

FAMILY = Family(28, QWEN_MIN_PIXELS, QWEN_MAX_PIXELS, "model_pixels")
SMALL = Family(28, 32 * 28 * 28, 48 * 28 * 28, "model_pixels")
RED, GREEN, BLUE, BLACK = (255, 0, 0), (0, 255, 0), (0, 0, 255), (0, 0, 0)

# The stored corners, as upright ones: top left, top right, bottom left, bottom right.
STORED = (RED, GREEN, BLUE, BLACK)
UPRIGHT = {
    1: (RED, GREEN, BLUE, BLACK),
    2: (GREEN, RED, BLACK, BLUE),
    3: (BLACK, BLUE, GREEN, RED),
    4: (BLUE, BLACK, RED, GREEN),
    5: (RED, BLUE, GREEN, BLACK),
    6: (BLUE, RED, BLACK, GREEN),
    7: (BLACK, GREEN, BLUE, RED),
    8: (GREEN, BLACK, RED, BLUE),
}


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def corners(width: int = 200, height: int = 100) -> Image.Image:
    image = Image.new("RGB", (width, height))
    for i, colour in enumerate(STORED):
        x, y = (i % 2) * width // 2, (i // 2) * height // 2
        image.paste(colour, (x, y, x + width // 2, y + height // 2))
    return image


def nearest_corners(prepared: Prepared) -> tuple[tuple[int, ...], ...]:
    w, h = prepared.image.size
    points = [
        (w // 4, h // 4),
        (3 * w // 4, h // 4),
        (w // 4, 3 * h // 4),
        (3 * w // 4, 3 * h // 4),
    ]
    found = [prepared.image.getpixel(point) for point in points]
    return tuple(tuple(255 if value > 127 else 0 for value in pixel) for pixel in found)


def turned(orientation: int, kind: str) -> bytes:
    exif = Image.Exif()
    exif[ORIENTATION_TAG] = orientation
    return saved(corners(), kind, exif=exif)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "WEBP"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_model_sees_every_orientation_upright(orientation, kind):
    prepared = prepare(turned(orientation, kind), FAMILY, Limits())
    facts = prepared.facts
    assert nearest_corners(prepared) == UPRIGHT[orientation]
    assert (facts.stored_width, facts.stored_height) == (200, 100)
    assert (facts.width, facts.height) == ((100, 200) if orientation > 4 else (200, 100))
    assert (facts.model_width, facts.model_height) == FAMILY.model_size(facts.width, facts.height)
    assert facts.orientation == orientation


@pytest.mark.parametrize("orientation", [0, 9, 77])
def test_an_orientation_that_there_is_not_is_taken_for_upright(orientation):
    prepared = prepare(turned(orientation, "JPEG"), FAMILY, Limits())
    assert prepared.facts.orientation == 1
    assert nearest_corners(prepared) == STORED


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")  # elsewhere worker.pictures ignores it
def test_broken_exif_is_no_reason_to_lose_the_picture():
    data = saved(corners(), "JPEG", exif=b"Exif\0\0II*\0\xff\xff\xff\xffnonsense")
    assert nearest_corners(prepare(data, FAMILY, Limits())) == STORED


@pytest.mark.parametrize(
    "size", [(27, 332), (1, 1), (1, 200), (200, 1), (200, 40000), (690, 15420)]
)
def test_tiny_and_long_pictures_are_brought_to_the_models_size(size):
    prepared = prepare(saved(Image.new("L", size, 80), "PNG"), FAMILY, Limits())
    assert prepared.image.size == FAMILY.model_size(*size)
    assert min(prepared.image.size) >= 28
    assert (prepared.facts.width, prepared.facts.height) == size


@settings(deadline=None, max_examples=30)
@given(
    st.integers(1, 400),
    st.integers(1, 400),
    st.sampled_from(["JPEG", "PNG", "WEBP"]),
    st.sampled_from([FAMILY, SMALL]),
)
def test_a_prepared_picture_always_has_the_models_size(width, height, kind, family):
    if max(width, height) > 200 * min(width, height):
        height = width
    prepared = prepare(saved(Image.new("RGB", (width, height)), kind), family, Limits())
    facts = prepared.facts
    assert prepared.image.size == family.model_size(width, height)
    assert prepared.image.size == (facts.model_width, facts.model_height)


@pytest.mark.parametrize("orientation", [1, 6])
@pytest.mark.parametrize("size", [(1600, 1200), (1200, 1600), (3000, 400), (230, 170), (449, 449)])
def test_a_jpeg_is_decoded_smaller_but_never_below_the_models_size(size, orientation, monkeypatch):
    decoded = []

    def watched(image: Image.Image, *rest: object) -> Image.Image:
        decoded.append(image.size)
        return to_srgb(image, *rest)

    monkeypatch.setattr(stills, "to_srgb", watched)
    exif = Image.Exif()
    exif[ORIENTATION_TAG] = orientation
    prepared = prepare(saved(Image.new("RGB", size), "JPEG", exif=exif), SMALL, Limits())
    turn = -1 if orientation == 6 else 1  # decoded as stored, and turned at the end
    assert decoded[0][0] >= prepared.image.size[::turn][0]
    assert decoded[0][1] >= prepared.image.size[::turn][1]
    if size == (1600, 1200):
        assert max(decoded[0]) < 1600


def test_a_jpeg_decoded_smaller_looks_like_one_decoded_whole():
    smooth = Image.fromarray(np.linspace(0, 255, 1200, dtype=np.uint8)[None, :].repeat(900, 0))
    drafted = prepare(saved(smooth, "JPEG", quality=95), SMALL, Limits())
    whole = prepare(saved(smooth, "PNG"), SMALL, Limits())
    difference = np.abs(np.asarray(drafted.image, int) - np.asarray(whole.image, int))
    assert drafted.facts.width == whole.facts.width == 1200
    assert difference.max() <= 4
