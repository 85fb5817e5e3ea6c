"""What bytes are, by their content: names and media types are often wrong. The first step."""

import struct

from worker.errors import PictureError
from worker.pictures.signatures import BRANDS, FOREIGN, QUICKTIME, RIFF, SIGNATURES

STILLS = {  # by which plugin each is read; Pillow has more, and some of them run programs
    "avif": "PIL.AvifImagePlugin",
    "bmp": "PIL.BmpImagePlugin",
    "dds": "PIL.DdsImagePlugin",
    "gif": "PIL.GifImagePlugin",
    "heic": "pillow_heif.HeifImagePlugin",
    "ico": "PIL.IcoImagePlugin",
    "jpeg": "PIL.JpegImagePlugin",  # and of it, MPO
    "jpeg2000": "PIL.Jpeg2KImagePlugin",
    "png": "PIL.PngImagePlugin",
    "ppm": "PIL.PpmImagePlugin",
    "tga": "PIL.TgaImagePlugin",
    "tiff": "PIL.TiffImagePlugin",
    "webp": "PIL.WebPImagePlugin",
}
CLIPS = ("avi", "mov", "mp4", "webm")
BMP_HEADERS = (12, 16, 40, 52, 56, 64, 108, 124)  # sizes of all that there have been, in bytes
TGA_FOOTER = b"TRUEVISION-XFILE.\0"
TGA_DEPTHS = {1: (8,), 9: (8,), 2: (15, 16, 24, 32), 10: (15, 16, 24, 32), 3: (8, 16), 11: (8, 16)}
DEEP_JPEGS = (12, 16)  # bits a value; others than these and 8 are a broken header
JPEG_FRAMES = {0xC3: "jpeg-lossless", 0xC7: "jpeg-lossless", 0xCB: "jpeg-lossless", 0xF7: "jpeg-ls"}


def sniff(data: bytes) -> str:
    """One of `STILLS` or `CLIPS`; `PictureError` with what it is instead, if that can be told."""
    if not data:
        raise PictureError("empty_object", "the object is empty")
    kind = _kind(data)
    if kind is None:
        raise _no_picture(data)
    if kind == "jpeg":
        kind = _jpeg_variant(data)
    if kind not in STILLS and kind not in CLIPS:
        raise unsupported(kind)
    return kind


def unsupported(kind: str, why: str = "there is no decoder for it") -> PictureError:
    """The error of a format that is known and can't be decoded."""
    return PictureError(f"unsupported_format:{kind}", f"the object is {kind}: {why}")


def _kind(data: bytes) -> str | None:
    for offset, signature, kind in SIGNATURES:
        if data.startswith(signature, offset):
            return kind
    if data.startswith(b"\x89PNG"):
        return "png"
    for check in (_riff, _iso_media, _svg, _bmp, _ppm, _ico, _transport_stream, _tga):
        if found := check(data):
            return found
    return None


def _no_picture(data: bytes) -> PictureError:
    start = data[:64].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    for mark, kind in FOREIGN.items():
        if start.startswith(mark):
            return PictureError("not_an_image", f"the object is {kind}")
    return PictureError("not_an_image", f"no picture format begins with {data[:8]!r}")


def _riff(data: bytes) -> str | None:
    return RIFF.get(data[8:12]) if data.startswith(b"RIFF") else None


def _iso_media(data: bytes) -> str | None:
    """By brand: a file may be several things, and says so after its major brand."""
    if data[4:8] in QUICKTIME and int.from_bytes(data[:4]) >= 8:
        return "mov"
    if data[4:8] != b"ftyp":
        return None
    said = data[8 : min(int.from_bytes(data[:4]), 256)]
    brands = [said[at : at + 4].decode("latin-1").strip() for at in range(0, len(said) - 3, 4)]
    major, others = brands[:1], brands[2:]  # a version stands between them
    if major and BRANDS.get(major[0]) in ("mov", "cr3"):
        return BRANDS[major[0]]
    return next((BRANDS[each] for each in BRANDS if each in major + others and each != "qt"), "mp4")


def _svg(data: bytes) -> str | None:
    start = data[:4096].lower()
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    page = b"<html" in start or b"<!doctype html" in start
    return "svg" if text and b"<svg" in start and not page else None


def _bmp(data: bytes) -> str | None:
    known = int.from_bytes(data[14:18], "little") in BMP_HEADERS
    return "bmp" if data.startswith(b"BM") and (known or len(data) < 18) else None


def _ppm(data: bytes) -> str | None:
    if data[:1] != b"P" or data[1:2] not in b"123456fF" or len(data) < 3:
        return None
    rest = data[2:64]
    return "ppm" if rest[:1].isspace() and rest.lstrip()[:1] in b"#0123456789" else None


def _ico(data: bytes) -> str | None:
    if len(data) < 22 or data[:4] != b"\0\0\1\0":
        return None
    count = int.from_bytes(data[4:6], "little")
    size, offset = struct.unpack_from("<II", data, 14)
    return "ico" if 0 < count < 256 and data[9] == 0 and size and offset >= 22 else None


def _transport_stream(data: bytes) -> str | None:
    return "mpeg-ts" if len(data) > 376 and data[0] == data[188] == data[376] == 0x47 else None


def _tga(data: bytes) -> str | None:
    """It has no signature at its start: by the footer, or by a header in which all fits."""
    if len(data) < 18:
        return None
    id_length, has_map, kind, _, map_length, map_depth, _, _, width, height, depth, flags = (
        struct.unpack_from("<BBBHHBHHHHBB", data)
    )
    if depth not in TGA_DEPTHS.get(kind, ()) or not width or not height:
        return None
    if data.endswith(TGA_FOOTER):
        return "tga"
    mapped = has_map == 1 and 0 < map_length <= 256 and map_depth in (15, 16, 24, 32)
    unmapped = has_map == 0 and map_length == map_depth == 0 and kind not in (1, 9)
    if not (mapped or unmapped) or flags & 0xC0 or flags & 0x0F > 8:
        return None
    least = 18 + id_length + map_length * ((map_depth + 7) // 8)
    pixels = width * height * ((depth + 7) // 8)
    whole = least + (pixels if kind < 8 else pixels // 128)
    return "tga" if len(data) >= whole else None


def _jpeg_variant(data: bytes) -> str:
    """`jpeg`, or the name of a kind of JPEG that is not decoded."""
    at = 2
    while at + 5 <= len(data) and data[at] == 0xFF:
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4])
        if marker in JPEG_FRAMES:
            return JPEG_FRAMES[marker]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return f"jpeg-{data[at + 4]}bit" if data[at + 4] in DEEP_JPEGS else "jpeg"
        if marker == 0xDA:
            return "jpeg"
        at += 1 if marker == 0xFF else 2 + length
    return "jpeg"
