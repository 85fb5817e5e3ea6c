"""Pictures that are cut, are none, or are too large: each a code of its own, none half decoded."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from worker.errors import PictureError
from worker.families import QWEN_MAX_PIXELS, QWEN_MIN_PIXELS, Family
from worker.pictures import Limits, Prepared, prepare
from worker.pictures.formats import STILLS

FAMILY = Family(28, QWEN_MIN_PIXELS, QWEN_MAX_PIXELS, "model_pixels")
NOISE = Image.fromarray(np.random.default_rng(0).integers(0, 256, (256, 256, 3), dtype=np.uint8))


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def decoded(data: bytes, limits: Limits | None = None) -> Prepared:
    return prepare(data, FAMILY, limits or Limits())


def refused(data: bytes, limits: Limits | None = None) -> PictureError:
    with pytest.raises(PictureError) as caught:
        decoded(data, limits)
    assert caught.value.stage == "decode"
    assert not caught.value.retryable
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("kept", [0.9, 0.5, 0.1])
def test_a_cut_jpeg_is_truncated_and_never_half_a_picture(progressive, kept):
    data = saved(NOISE, "JPEG", progressive=progressive)
    assert refused(data[: int(len(data) * kept)]).code == "image_truncated"


@pytest.mark.parametrize("kind", ["PNG", "GIF", "BMP", "TIFF"])
def test_a_cut_file_of_any_common_format_is_truncated(kind):
    data = saved(NOISE, kind)
    assert refused(data[: len(data) // 2]).code == "image_truncated"


@pytest.mark.parametrize("kind", ["WEBP", "JPEG2000", "AVIF"])
def test_a_cut_file_of_a_newer_format_is_refused_too(kind):
    data = saved(NOISE, kind)
    assert refused(data[: len(data) // 2]).code == "image_truncated"


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "TIFF", "BMP"])
def test_a_file_cut_in_its_header_is_a_broken_picture_and_not_something_else(kind):
    assert refused(saved(NOISE, kind)[:20]).code in ("image_truncated", "image_broken")


def test_a_jpeg_that_only_misses_its_last_bytes_is_truncated_as_well():
    assert refused(saved(NOISE, "JPEG")[:-2]).code == "image_truncated"


def test_an_empty_object_is_named_as_such():
    assert refused(b"").code == "empty_object"


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', "xml"),
        (b"<!DOCTYPE html><html><title>Sign in</title></html>", "html"),
        (b"\n <html>", "html"),
        (b"just some text", "just som"),
        (b"{}", "{}"),
        (b"\0" * 64, "x00"),
    ],
)
def test_what_is_no_picture_is_told_by_its_bytes(data, named):
    error = refused(data)
    assert error.code == "not_an_image"
    assert named in str(error)


@pytest.mark.parametrize("brand", [b"heic", b"mif1", b"avif", b"isom", b"qt  "])
def test_the_mere_beginning_of_a_newer_format_is_a_broken_picture(brand):
    pytest.importorskip("pillow_heif")
    data = b"\0\0\0\x18ftyp" + brand + b"\0\0\0\0" * 8
    assert refused(data).code in ("image_broken", "image_truncated")


def test_a_format_whose_decoder_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(STILLS, "heic", "pillow_heif.not_here")
    data = b"\0\0\0\x18ftypheic" + b"\0\0\0\0" * 8
    assert refused(data).code == "unsupported_format:heic"


def test_a_png_is_decoded_whatever_its_name_says():
    prepared = decoded(saved(NOISE, "PNG"))
    assert prepared.facts.format == "png"
    assert prepared.warnings == ()


def test_postscript_is_never_run():
    program = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 64 64\n%%EndComments\nshowpage\n"
    assert refused(program).code == "unsupported_format:postscript"


def bomb(side: int) -> bytes:
    """A PNG of one bit a pixel: kilobytes on disk, gigabytes as RGB."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    rows = zlib.compress(bytes(1 + side // 8) * 16)  # as if all followed: it is never decoded
    parts = [chunk(b"IHDR", header), chunk(b"IDAT", rows), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.mark.parametrize("side", [15000, 20000, 100000])
def test_a_bomb_is_refused_by_its_header_before_anything_is_decoded(side, monkeypatch):
    monkeypatch.setattr("worker.pictures.stills._load", lambda *_: pytest.fail("it was decoded"))
    error = refused(bomb(side))
    assert error.code == "image_too_large"
    assert f"{side}x{side}" in str(error)


def test_a_picture_above_its_own_limits_is_refused_and_one_below_is_not():
    small = saved(NOISE, "PNG")
    assert refused(small, Limits(max_pixels=256 * 256 - 1)).code == "image_too_large"
    assert refused(small, Limits(max_bytes=len(small) - 1)).code == "file_too_large"
    assert decoded(small, Limits(max_pixels=256 * 256, max_bytes=len(small))).facts.width == 256


def test_a_picture_thinner_than_the_model_takes_is_refused_before_decoding(monkeypatch):
    monkeypatch.setattr("worker.pictures.stills._load", lambda *_: pytest.fail("it was decoded"))
    assert refused(saved(Image.new("RGB", (499, 1)), "PNG")).code == "aspect_ratio"
    assert refused(saved(Image.new("RGB", (5, 1093)), "PNG")).code == "aspect_ratio"
