"""Any mode becomes 8-bit sRGB at the size that is wanted: one resize, then the colours.

Colours come after the resize, where there are fewer pixels; depth and palettes must come before.
"""

import io
from collections.abc import Sequence
from typing import Any

from PIL import Image, ImageCms

from worker.pictures.depth import is_wide, to_8_bits, was_deep

# Lanczos is nearest to what a careful eye sees; the integer reduction before it leaves it 3 times
# the size that is wanted, below which the difference could be seen.
RESAMPLING, REDUCING_GAP = Image.Resampling.LANCZOS, 3.0
SRGB = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))
LAB = ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB"))

Box = tuple[float, float, float, float]


def to_srgb(
    image: Image.Image,
    size: tuple[int, int],
    covered: Box | None,
    background: tuple[int, int, int],
    stored: Sequence[Any],
    noted: list[str],
) -> Image.Image:
    """The loaded `image` as RGB of `size`; what could not be kept is added to `noted`.

    covered   the part of it that holds the picture; a JPEG decoded smaller is rounded up
    stored    how the file holds pixels: Pillow's tiles from before it was loaded
    """
    profile = image.info.get("icc_profile")
    if is_wide(image) or was_deep(stored):
        noted.append("depth_reduced")
    if _ambiguous(image):
        noted.append("cmyk_ambiguous")
    small = _resized(_resizable(image, stored), size, covered)
    if small.mode not in ("RGBA", "LA"):
        return _in_srgb(small, profile, noted)
    ground = Image.new("RGB", small.size, background)
    opaque = small.convert("L" if small.mode == "LA" else "RGB")
    ground.paste(_in_srgb(opaque, profile, noted), mask=small.getchannel("A"))
    return ground


def _ambiguous(image: Image.Image) -> bool:
    """Whether it is unknown if this CMYK is inverted: Adobe's marker says so, and it is missing."""
    return image.mode == "CMYK" and image.format in ("JPEG", "MPO") and "adobe" not in image.info


def _resizable(image: Image.Image, stored: Sequence[Any]) -> Image.Image:
    """The same picture in a mode whose values may be mixed."""
    if is_wide(image):
        return to_8_bits(image, stored)
    if image.mode == "La":
        return image.convert("LA")
    if image.has_transparency_data and image.mode != "LA":
        return image.convert("RGBA")
    if image.mode == "1":
        return image.convert("L")
    if image.mode == "LAB":
        return _converted(image, LAB)
    known = ("L", "LA", "RGB", "RGBA", "CMYK", "YCbCr")
    return image if image.mode in known else image.convert("RGB")


def _resized(image: Image.Image, size: tuple[int, int], covered: Box | None) -> Image.Image:
    if image.size == size and covered in (None, (0, 0, *size)):
        return image
    return image.resize(size, RESAMPLING, box=covered, reducing_gap=REDUCING_GAP)


def _in_srgb(image: Image.Image, profile: bytes | None, noted: list[str]) -> Image.Image:
    if not profile:
        return image.convert("RGB")
    base = image if image.mode in ("RGB", "CMYK", "L") else image.convert("RGB")
    try:
        return _converted(base, ImageCms.ImageCmsProfile(io.BytesIO(profile)))
    except (ImageCms.PyCMSError, OSError, ValueError):
        noted.append("icc_unusable")
        return image.convert("RGB")


def _converted(image: Image.Image, source: ImageCms.ImageCmsProfile) -> Image.Image:
    converted = ImageCms.profileToProfile(image, source, SRGB, outputMode="RGB")
    assert converted is not None, "only in-place conversion answers None"
    return converted
