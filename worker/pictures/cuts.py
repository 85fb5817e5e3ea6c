"""Is a file shorter than it says itself? Decoders often only complain; this tells cut from broken.

Only asked about a file that could not be decoded, or of a format whose decoder takes what is there.
"""

from typing import Any

STRIPS, STRIP_BYTES, TILES, TILE_BYTES = 273, 279, 324, 325


def is_cut(data: bytes, kind: str) -> bool:
    """Whether `data` of format `kind` lacks its end, or all but its first bytes."""
    if len(data) < 32:
        return True
    if kind == "webp":
        return int.from_bytes(data[4:8], "little") + 8 > len(data)
    if kind == "avi":
        return data[:4] == b"RIFF" and int.from_bytes(data[4:8], "little") + 8 > len(data)
    if kind == "webm":
        return _segment_end(data) > len(data)
    if kind in ("avif", "heic", "mp4", "mov") or (kind == "jpeg2000" and data[:1] == b"\0"):
        return _boxes_end(data) > len(data)
    if kind == "jpeg2000":
        return b"\xff\xd9" not in data[-64:]
    if kind == "bmp":
        return int.from_bytes(data[2:6], "little") > len(data)
    if kind == "tiff" and data[2] in b"*" + b"\0":
        order = "little" if data[:1] == b"I" else "big"
        return int.from_bytes(data[4:8], order) + 14 > len(data)  # type: ignore[arg-type]
    if kind == "ico":
        size, offset = (int.from_bytes(data[at : at + 4], "little") for at in (14, 18))
        return size + offset > len(data)
    return kind in ("png", "gif") and not _has_end(data, kind)


def strips_cut(tags: Any, length: int) -> bool:
    """Whether a strip or tile of a TIFF page lies beyond the end of the file."""
    starts = tags.get(STRIPS) or tags.get(TILES) or ()
    sizes = tags.get(STRIP_BYTES) or tags.get(TILE_BYTES) or ()
    pairs = zip(starts, sizes, strict=False)
    return any(start + size > length for start, size in pairs)


def _boxes_end(data: bytes) -> int:
    """Where the last box of an ISO base media file ends by its own account, in bytes."""
    at = 0
    while at + 8 <= len(data):
        size = int.from_bytes(data[at : at + 4])
        if size == 1:
            size = int.from_bytes(data[at + 8 : at + 16])
        if size == 0:
            return len(data)
        if size < 8:
            return at
        at += size
    return at


def _segment_end(data: bytes) -> int:
    """Where the one segment of a Matroska file ends by its own account; 0 if it does not say."""
    at = data.find(b"\x18\x53\x80\x67", 0, 4096) + 4
    if at < 4 or at >= len(data) or not data[at]:
        return 0
    length = 9 - data[at].bit_length()  # zeros before the first one tell how many bytes it has
    size = int.from_bytes(data[at : at + length]) & ((1 << 7 * length) - 1)
    unknown = (1 << 7 * length) - 1
    return 0 if size == unknown else at + length + size


def _has_end(data: bytes, kind: str) -> bool:
    return b"IEND" in data[-64:] if kind == "png" else data.rstrip(b"\0").endswith(b";")
