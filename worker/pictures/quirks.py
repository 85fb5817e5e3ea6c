"""What single formats do that others don't: pictures that would be lost, or seen wrongly."""

from PIL import Image

from worker.pictures.formats import unsupported

DNG_VERSION, SUBFILE_TYPE, SUBFILES = 50706, 254, 330  # TIFF tags
THUMBNAIL = 1
BITS, PLANES, APART = 258, 284, 2
ALPHA_BITS = 0x0F  # of a TGA's flags


def refuse_misread(image: Image.Image, kind: str) -> None:
    """`PictureError` for TIFFs of which Pillow would make another picture than they are.

    Of a camera's raw file, the first page is a thumbnail. Of planes of 16 bits, it reads each value
    as two.
    """
    if kind != "tiff":
        return
    tags = image.tag_v2  # type: ignore[attr-defined]
    if tags.get(PLANES) == APART and max(tags.get(BITS, (1,))) > 8 and len(tags.get(BITS, ())) > 1:
        raise unsupported(kind, "colours stand in planes of more than 8 bits")
    if DNG_VERSION in tags:
        raise unsupported("dng")
    if tags.get(SUBFILE_TYPE) == THUMBNAIL and SUBFILES in tags:
        raise unsupported("camera-raw")


def learn_tiffs() -> None:
    """Grey of 16 bits whose zero is white: Pillow knows it in one byte order only."""
    from PIL import TiffImagePlugin

    TiffImagePlugin.OPEN_INFO.setdefault(
        (TiffImagePlugin.MM, 0, (1,), 1, (16,), ()), ("I;16B", "I;16B")
    )


def largest_inside(data: bytes) -> tuple[int, int]:
    """The largest size that an icon holds: files of their own, which Pillow decodes on opening."""
    count = int.from_bytes(data[4:6], "little")
    places = [data[18 + 16 * i : 22 + 16 * i] for i in range(count)]
    sizes = [_size_at(data, int.from_bytes(place, "little")) for place in places]
    return max(sizes, key=lambda size: size[0] * size[1], default=(0, 0))


def _size_at(data: bytes, at: int) -> tuple[int, int]:
    if data[at : at + 4] == b"\x89PNG":
        return int.from_bytes(data[at + 16 : at + 20]), int.from_bytes(data[at + 20 : at + 24])
    width, height = (int.from_bytes(data[at + i : at + i + 4], "little") for i in (4, 8))
    return width, height // 2  # picture and mask


def without_false_alpha(image: Image.Image, data: bytes, kind: str) -> Image.Image:
    """A TGA of 32 bits need not have alpha, and then the picture must not be seen through."""
    if kind == "tga" and image.mode == "RGBA" and data[17] & ALPHA_BITS == 0:
        return image.convert("RGB")
    return image
