"""What a file is, by its bytes alone: what is decoded, what has no decoder, and what is none."""

import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from worker.errors import PictureError
from worker.families import Family
from worker.pictures import Limits, prepare
from worker.pictures.formats import CLIPS, STILLS, sniff

FAMILY = Family(28, 3136, 100 * 784, "model_pixels")
COLOURS = Image.fromarray(np.random.default_rng(0).integers(0, 256, (48, 64, 3), dtype=np.uint8))


def saved(kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    COLOURS.copy().save(file, kind, **options)
    return file.getvalue()


def refused(data: bytes) -> PictureError:
    with pytest.raises(PictureError) as caught:
        prepare(data, FAMILY, Limits())
    return caught.value


@pytest.mark.parametrize(
    ("plugin", "kind", "options"),
    [
        ("JPEG", "jpeg", {}),
        ("PNG", "png", {}),
        ("GIF", "gif", {}),
        ("BMP", "bmp", {}),
        ("WEBP", "webp", {}),
        ("AVIF", "avif", {}),
        ("TIFF", "tiff", {}),
        ("TIFF", "tiff", {"big_tiff": True}),
        ("JPEG2000", "jpeg2000", {}),
        ("JPEG2000", "jpeg2000", {"no_jp2": True}),
        ("PPM", "ppm", {}),
        ("TGA", "tga", {}),
        ("TGA", "tga", {"compression": "tga_rle"}),
        ("ICO", "ico", {}),
        ("DDS", "dds", {}),
    ],
)
def test_a_format_is_told_by_its_bytes_and_decoded(plugin, kind, options):
    data = saved(plugin, **options)
    assert sniff(data) == kind
    assert prepare(data, FAMILY, Limits()).facts.format == kind


def jpeg_of(frame: int, bits: int) -> bytes:
    """A JPEG whose header says another process or precision."""
    data = bytearray(saved("JPEG"))
    at = data.index(b"\xff\xc0")
    data[at + 1], data[at + 4] = frame, bits
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (jpeg_of(0xC1, 12), "jpeg-12bit"),
        (jpeg_of(0xC3, 8), "jpeg-lossless"),
        (jpeg_of(0xF7, 8), "jpeg-ls"),
        (b"8BPS\0\1" + bytes(50), "psd"),
        (b"\0\0\0\x0cJXL \r\n\x87\n" + bytes(50), "jxl"),
        (b"\xff\x0a" + bytes(50), "jxl"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n", "postscript"),
        (b"%PDF-1.7 ...", "pdf"),
        (b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>', "svg"),
        (b"\n<svg width='9'></svg>", "svg"),
        (b"\x76\x2f\x31\x01" + bytes(50), "exr"),
        (b"#?RADIANCE\n", "hdr"),
        (b"SIMPLE  =                    T", "fits"),
        (bytes(128) + b"DICM" + bytes(20), "dicom"),
        (b"II*\0\x10\0\0\0CR\2\0" + bytes(50), "cr2"),
        (b"\0\0\0\x18ftypcrx \0\0\0\1crx isom", "cr3"),
        (b"FUJIFILMCCD-RAW 0201", "raf"),
        (b"qoif" + bytes(20), "qoi"),
        (b"gimp xcf v011", "xcf"),
        (b"\x01\0\0\0" + bytes(36) + b" EMF" + bytes(40), "emf"),
        (b"P7\nWIDTH 2\n", "pam"),
        (b"FLV\1" + bytes(20), "flv"),
        ((b"\x47" + bytes(187)) * 4, "mpeg-ts"),
    ],
)
def test_a_format_without_a_decoder_is_an_error_with_its_name(data, kind):
    error = refused(data)
    assert error.code == f"unsupported_format:{kind}"
    assert kind in str(error)


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>", "xml"),
        (b"\xef\xbb\xbf<!DOCTYPE html><svg></svg>", "html"),
        (b"<html><svg></svg></html>", "html"),
        (b"PK\3\4" + bytes(50), "zip"),
        (b"\x1f\x8b\x08" + bytes(50), "gzip"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
        (b"BMW is a maker of cars, and this is text", "BMW"),
        (b"P5 is no picture but a postcode", "P5"),
        (b"GIF is a format", "GIF"),
        (b"\0" * 5000, "x00"),
    ],
)
def test_what_is_no_picture_says_what_it_is(data, named):
    error = refused(data)
    assert error.code == "not_an_image"
    assert named in str(error)


@given(st.binary(min_size=18, max_size=2000))
def test_noise_is_hardly_ever_taken_for_a_format_without_a_signature(data):
    try:
        kind = sniff(data)
    except PictureError:
        return
    # A header of TGA must fit in all its fields; then a decoder must agree.
    assert kind in STILLS or kind in CLIPS


def test_a_file_of_several_brands_is_what_a_decoder_can_make_of_it():
    def brands(*names: bytes) -> bytes:
        body = names[0] + b"\0\0\0\0" + b"".join(names[1:])
        return struct.pack(">I", 8 + len(body)) + b"ftyp" + body + bytes(40)

    assert sniff(brands(b"mif1", b"mif1", b"avif", b"miaf")) == "avif"
    assert sniff(brands(b"mif1", b"mif1", b"heic")) == "heic"
    assert sniff(brands(b"heic", b"mif1", b"heic")) == "heic"
    assert sniff(brands(b"isom", b"iso2", b"avc1", b"mp41")) == "mp4"
    assert sniff(brands(b"qt  ", b"qt  ")) == "mov"


def test_the_raw_file_of_a_camera_is_no_picture_of_its_thumbnail():
    for tags, kind in (({50706: b"\1\4\0\0"}, "dng"), ({254: 1, 330: 8}, "camera-raw")):
        assert refused(saved("TIFF", tiffinfo=tags)).code == f"unsupported_format:{kind}"


def test_an_icon_that_holds_a_bomb_is_refused_by_the_size_inside():
    data = bytearray(saved("ICO", sizes=[(48, 48)]))
    at = data.index(b"IHDR") + 4
    data[at : at + 8] = struct.pack(">II", 30000, 30000)
    data[at + 13 : at + 17] = struct.pack(">I", zlib.crc32(data[at - 4 : at + 13]))
    error = refused(bytes(data))
    assert error.code == "image_too_large"
    assert "30000x30000" in str(error)


@pytest.mark.parametrize(
    ("plugin", "options"),
    [
        ("AVIF", {}),
        ("JPEG2000", {"no_jp2": True}),
        ("TIFF", {"compression": "tiff_lzw"}),
        ("TIFF", {"compression": "jpeg"}),
        ("DDS", {}),
        ("DDS", {"pixel_format": "DXT1"}),
        ("ICO", {}),
        ("WEBP", {"lossless": True}),
    ],
)
@pytest.mark.parametrize("kept", [0.2, 0.6, 0.95])
def test_a_cut_file_is_never_half_a_picture(plugin, options, kept):
    data = saved(plugin, **options)
    assert refused(data[: int(len(data) * kept)]).code in ("image_truncated", "image_broken")


def test_a_cut_heic_is_truncated():
    pytest.importorskip("pillow_heif").register_heif_opener()
    data = saved("HEIF")
    for kept in (40, len(data) // 2, len(data) - 1):
        assert refused(data[:kept]).code == "image_truncated"
