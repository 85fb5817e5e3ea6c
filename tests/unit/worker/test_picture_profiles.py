"""Profiles, and depth with them: a picture is seen as its profile says, at any depth and mode."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from tests.odd_pictures import HEIGHT, WIDTH, chunk, png, seen, smooth, tiff
from worker.families import Family
from worker.pictures import Limits, Prepared, prepare
from worker.pictures.stills import ORIENTATION_TAG

SIDE = 256
AS_IS = Family(32, SIDE * SIDE, SIDE * SIDE, "model_pixels")  # seen as they are: no resize
# D50-adapted primaries of sRGB, as in its own profile, and the white they add up to.
PRIMARIES = {
    b"rXYZ": (0.4361, 0.2225, 0.0139),
    b"gXYZ": (0.3851, 0.7169, 0.0971),
    b"bXYZ": (0.1431, 0.0606, 0.7141),
}
WHITE = (0.9642, 1.0, 0.8249)


def linear_profile(space: bytes) -> bytes:
    """An ICC profile, version 2, whose values are light itself: half is seen as 188 of 255."""
    curve = b"curv" + bytes(8)  # no entries: the identity
    tags = {b"wtpt": xyz(WHITE), b"desc": b"desc" + bytes(4) + struct.pack(">I", 1) + bytes(80)}
    if space == b"GRAY":
        tags[b"kTRC"] = curve
    else:
        tags |= {name: xyz(value) for name, value in PRIMARIES.items()}
        tags |= dict.fromkeys((b"rTRC", b"gTRC", b"bTRC"), curve)
    at, table, body = 128 + 4 + 12 * len(tags), b"", b""
    for name, content in tags.items():
        padded = content + bytes(-len(content) % 4)
        table += name + struct.pack(">II", at + len(body), len(content))
        body += padded
    header = bytearray(128)
    struct.pack_into(">I", header, 0, at + len(body))
    header[8:24] = b"\x02\x10\0\0mntr" + space + b"XYZ "
    header[36:40] = b"acsp"
    struct.pack_into(">3i", header, 68, *(round(value * 65536) for value in WHITE))
    return bytes(header) + struct.pack(">I", len(tags)) + table + body


def xyz(values: tuple[float, ...]) -> bytes:
    return b"XYZ " + bytes(4) + struct.pack(">3i", *(round(value * 65536) for value in values))


def decoded(data: bytes, family: Family = AS_IS) -> Prepared:
    return prepare(data, family, Limits())


def shade(image: Image.Image, kind: str = "PNG", profile: bytes = b"") -> tuple[int, ...]:
    file = io.BytesIO()
    image.save(file, kind, icc_profile=profile or None)
    prepared = decoded(file.getvalue())
    assert "icc_unusable" not in prepared.warnings
    return prepared.image.getpixel((9, 9))


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "WEBP", "AVIF", "JPEG"])
def test_colour_is_seen_through_its_profile(kind):
    image = Image.new("RGB", (SIDE, SIDE), (128, 128, 128))
    assert shade(image, kind) == pytest.approx((128,) * 3, abs=2)
    assert shade(image, kind, linear_profile(b"RGB ")) == pytest.approx((188,) * 3, abs=3)


@pytest.mark.parametrize("mode", ["RGBA", "P"])
def test_a_profile_holds_under_alpha_and_of_a_palette(mode):
    plain = Image.new("RGB", (SIDE, SIDE), (128, 128, 128))
    image = plain.convert(mode, palette=Image.Palette.ADAPTIVE)
    assert shade(image, "PNG", linear_profile(b"RGB ")) == pytest.approx((188,) * 3, abs=3)


@pytest.mark.parametrize("mode", ["L", "LA", "I;16"])
@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_grey_is_seen_through_its_profile_at_any_depth(mode, kind):
    half = {"L": 128, "LA": (128, 255), "I;16": 32896}[mode]
    image = Image.new(mode, (SIDE, SIDE), half)
    assert shade(image, kind, linear_profile(b"GRAY")) == pytest.approx((188,) * 3, abs=3)


@pytest.mark.parametrize("top", [1.0, 1.02, 1.4])
def test_floating_point_that_overshoots_its_white_a_little_is_not_made_dark(top):
    values = np.full((SIDE, SIDE), 0.5, np.float32)
    values[:2, :2] = top
    file = io.BytesIO()
    Image.fromarray(values).save(file, "TIFF")
    assert decoded(file.getvalue()).image.getpixel((99, 99)) == (128, 128, 128)
    assert decoded(file.getvalue()).image.getpixel((0, 0)) == (255, 255, 255)


def test_a_grey_of_sixteen_bits_that_stands_for_transparent_becomes_the_background():
    values = np.full((HEIGHT, WIDTH, 1), 1000)
    values[:10] = 77
    data = png(values, 16, 0, 0, chunk(b"tRNS", struct.pack(">H", 77)))
    wide = Family(1, HEIGHT * WIDTH, HEIGHT * WIDTH, "model_pixels")
    pixels = np.asarray(decoded(data, wide).image)
    assert (pixels[:10] == 255).all()
    assert (pixels[10:] == 4).all()


def test_twelve_bits_are_scaled_by_their_own_top():
    values = smooth(1, 4095)[..., 0]
    if values.shape[1] % 2:
        values = values[:, :-1]
    pairs = values.reshape(values.shape[0], -1, 2)
    first, second = pairs[..., 0], pairs[..., 1]
    three = np.stack([first >> 4, (first & 15) << 4 | second >> 8, second & 255], -1)
    data = bytearray(tiff(three.reshape(three.shape[0], -1, 1), 8, "<", 1))
    image = Image.open(io.BytesIO(bytes(data)))
    assert image.size[0] == three.shape[1] * 3
    for tag, value in ((256, values.shape[1]), (258, 12)):
        at = data.index(struct.pack("<H", tag) + struct.pack("<H", 4 if tag == 256 else 3))
        data[at + 8 : at + 10] = struct.pack("<H", value)
    height, width = values.shape
    pixels = np.asarray(decoded(bytes(data), Family(1, 9, width * height, "model_pixels")).image)
    assert np.abs(pixels[..., 0] - seen(values[..., None], 4095)[..., 0].astype(int)).max() <= 1


@pytest.mark.parametrize("behind", [False, True])
def test_exif_of_a_png_turns_it_before_and_behind_the_pixels(behind):
    exif = Image.Exif()
    exif[ORIENTATION_TAG] = 6
    body = chunk(b"eXIf", exif.tobytes().removeprefix(b"Exif\0\0"))
    values = smooth(3, 255)
    data = png(values, 8, 2, 0, b"" if behind else body)
    if behind:
        end = chunk(b"IEND", b"")
        data = data.removesuffix(end) + body + end
    prepared = decoded(data, Family(1, HEIGHT * WIDTH, HEIGHT * WIDTH, "model_pixels"))
    assert prepared.facts.orientation == 6
    assert prepared.image.size == (HEIGHT, WIDTH)
    assert (np.asarray(prepared.image) == np.rot90(seen(values, 255), -1)).all()


def test_lab_is_seen_in_its_colours():
    red = (54, 81 + 128, 70 + 128)
    values = np.full((HEIGHT, WIDTH, 3), (round(red[0] * 2.55), (red[1] - 128) % 256, red[2] - 128))
    file = tiff(values, 8, "<", 8)
    prepared = decoded(file, Family(1, HEIGHT * WIDTH, HEIGHT * WIDTH, "model_pixels"))
    assert prepared.image.getpixel((9, 9)) == pytest.approx((255, 0, 0), abs=25)


def test_a_compressed_profile_that_is_cut_does_not_cost_the_picture():
    broken = chunk(b"iCCP", b"name\0\0" + zlib.compress(linear_profile(b"RGB "))[:40])
    values = smooth(3, 255)
    data = png(values, 8, 2, 0, broken)
    prepared = decoded(data, Family(1, HEIGHT * WIDTH, HEIGHT * WIDTH, "model_pixels"))
    assert (np.asarray(prepared.image) == seen(values, 255)).all()
