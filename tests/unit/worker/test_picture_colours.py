"""Depth, transparency, CMYK and profiles: the model sees the colours that a person would see."""

import io

import numpy as np
import pytest
from PIL import Image, ImageCms

from worker.families import Family
from worker.pictures import Limits, Prepared, prepare

SIDE = 256
FAMILY = Family(32, SIDE * SIDE, SIDE * SIDE, "model_pixels")  # seen as they are: no resize
RANDOM = np.random.default_rng(1)


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def seen(image: Image.Image, kind: str = "PNG", **options: object) -> Prepared:
    return prepare(saved(image, kind, **options), FAMILY, Limits())


def pixels(prepared: Prepared) -> np.ndarray:
    assert prepared.image.mode == "RGB"
    return np.asarray(prepared.image)


def ramp() -> np.ndarray:
    return np.linspace(0, 65535, SIDE * SIDE).astype(np.uint16).reshape(SIDE, SIDE)


@pytest.mark.parametrize(
    ("kind", "mode", "order"),
    [("PNG", "I;16", "<u2"), ("TIFF", "I;16", "<u2"), ("TIFF", "I;16B", ">u2")],
)
def test_sixteen_bits_of_grey_keep_their_levels(kind, mode, order):
    image = Image.frombytes(mode, (SIDE, SIDE), ramp().astype(order).tobytes())
    prepared = seen(image, kind)
    assert len(np.unique(pixels(prepared))) >= 200
    assert pixels(prepared).mean() == pytest.approx(127.5, abs=1)
    assert prepared.warnings == ("depth_reduced",)


@pytest.mark.parametrize("top", [1.0, 255.0])
def test_floating_point_grey_keeps_its_levels(top):
    image = Image.fromarray((ramp() / 65535 * top).astype(np.float32))
    assert len(np.unique(pixels(seen(image, "TIFF")))) >= 200


def test_a_floating_point_picture_with_holes_is_still_a_picture():
    values = (ramp() / 65535).astype(np.float32)
    values[0, :3] = (np.nan, np.inf, -np.inf)
    prepared = seen(Image.fromarray(values), "TIFF")
    assert prepared.warnings == ("depth_reduced",)


def hidden_noise() -> np.ndarray:
    """Noise that is wholly transparent, and an opaque red square."""
    rgba = RANDOM.integers(0, 256, (SIDE, SIDE, 4), dtype=np.uint8)
    rgba[..., 3] = 0
    rgba[64:128, 64:128] = (255, 0, 0, 255)
    return rgba


def expected_square() -> np.ndarray:
    white = np.full((SIDE, SIDE, 3), 255, np.uint8)
    white[64:128, 64:128] = (255, 0, 0)
    return white


def test_hidden_colours_under_transparency_never_reach_the_model():
    assert (pixels(seen(Image.fromarray(hidden_noise()))) == expected_square()).all()


def test_a_palette_with_transparency_looks_the_same():
    image = Image.new("P", (SIDE, SIDE), 0)
    image.putpalette([9, 99, 199, 255, 0, 0])
    image.paste(1, (64, 64, 128, 128))
    assert (pixels(seen(image, transparency=bytes([0, 255]))) == expected_square()).all()


def test_grey_with_alpha_looks_the_same_as_colour_with_alpha():
    grey = RANDOM.integers(0, 256, (SIDE, SIDE, 2), dtype=np.uint8)
    as_la = Image.merge("LA", [Image.fromarray(grey[..., 0]), Image.fromarray(grey[..., 1])])
    assert (pixels(seen(as_la)) == pixels(seen(as_la.convert("RGBA")))).all()
    assert (pixels(seen(Image.new("LA", (SIDE, SIDE), (0, 0)))) == 255).all()


@pytest.mark.parametrize(("mode", "clear"), [("L", 0), ("RGB", (0, 0, 0))])
def test_a_colour_that_stands_for_transparent_becomes_the_background(mode, clear):
    assert (pixels(seen(Image.new(mode, (SIDE, SIDE)), transparency=clear)) == 255).all()


def test_the_background_is_a_setting():
    data = saved(Image.new("RGBA", (SIDE, SIDE), (0, 0, 0, 0)), "PNG")
    grey = prepare(data, FAMILY, Limits(background=(10, 20, 30)))
    assert grey.image.getpixel((5, 5)) == (10, 20, 30)


def cmyk_red() -> Image.Image:
    return Image.new("CMYK", (SIDE, SIDE), (0, 255, 255, 0))


def without_adobe(data: bytes) -> bytes:
    """The same JPEG without its APP14 marker."""
    at = data.index(b"\xff\xee")
    return data[:at] + data[at + 2 + int.from_bytes(data[at + 2 : at + 4]) :]


def test_red_in_cmyk_is_red():
    prepared = seen(cmyk_red(), "JPEG")
    assert pixels(prepared).mean(axis=(0, 1)) == pytest.approx((255, 0, 0), abs=6)
    assert prepared.warnings == ()


def test_cmyk_that_may_be_inverted_is_decoded_with_a_warning():
    data = without_adobe(saved(cmyk_red(), "JPEG"))
    prepared = prepare(data, FAMILY, Limits())
    assert prepared.warnings == ("cmyk_ambiguous",)
    assert prepared.image.size == (SIDE, SIDE)


@pytest.mark.parametrize("profile", [b"not a profile", b"\0" * 200])
@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
def test_an_unusable_profile_is_a_warning_and_no_error(profile, mode):
    plain = seen(Image.new(mode, (SIDE, SIDE), "grey"), "JPEG")
    prepared = seen(Image.new(mode, (SIDE, SIDE), "grey"), "JPEG", icc_profile=profile)
    assert prepared.warnings == ("icc_unusable",)
    assert (pixels(prepared) == pixels(plain)).all()


def test_a_profile_that_does_not_fit_the_picture_is_a_warning_and_no_error():
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    assert seen(cmyk_red(), "JPEG", icc_profile=profile).warnings == ("icc_unusable",)


def test_a_good_profile_is_used_without_a_word():
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    prepared = seen(Image.new("RGB", (SIDE, SIDE), (200, 50, 25)), icc_profile=profile)
    assert prepared.warnings == ()
    assert pixels(prepared)[9, 9] == pytest.approx((200, 50, 25), abs=1)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB"])
def test_every_plain_mode_becomes_rgb(mode):
    assert pixels(seen(Image.new(mode, (SIDE, SIDE)))).shape == (SIDE, SIDE, 3)
