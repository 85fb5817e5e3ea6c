"""Bytes become an upright 8-bit RGB picture at the size that the model sees. The decode stage.

Header first, so that limits hold before a pixel is decoded; JPEGs are decoded near the size that is
needed; one resize onto the model's own grid, so that its processor does not resize again.
"""

import io
import warnings
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageCms, UnidentifiedImageError

from jobs.rows import ImageFacts
from worker.errors import PictureError
from worker.families import Family

ORIENTATION_TAG = 0x0112
TURNS = {  # from each EXIF orientation to upright
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
SIDEWAYS = (5, 6, 7, 8)  # EXIF orientations that exchange width and height

# Pillow knows more, but some of those run programs (PostScript) or recognise nearly anything.
DECODED = {"AVIF", "BMP", "GIF", "HEIF", "JPEG", "JPEG2000", "MPO", "PNG", "PPM", "TIFF", "WEBP"}
SIGNATURES = {
    b"\xff\xd8\xff": "jpeg",
    b"\x89PNG": "png",
    b"GIF8": "gif",
    b"II*\0": "tiff",
    b"MM\0*": "tiff",
}
FOREIGN = {b"<?xml": "xml", b"<!doctype html": "html", b"<html": "html", b"%pdf": "pdf"}

Image.MAX_IMAGE_PIXELS = None  # our own limit holds before anything is decoded
# Once and for all: `catch_warnings` around each decode would corrupt the filters, which all threads
# share. What Pillow warns of is an error here or does not matter.
warnings.filterwarnings("ignore", module=r"PIL\.")
Image.init()
FORMATS = sorted(DECODED & Image.OPEN.keys())


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one picture: pixels, and bytes as stored. Above them it is that row's error."""

    max_pixels: int = 200_000_000
    max_bytes: int = 256 * 1024 * 1024
    background: tuple[int, int, int] = (255, 255, 255)


@dataclass(frozen=True, slots=True)
class Prepared:
    """An RGB picture of exactly the model's size; `warnings` name what could not be kept."""

    image: Image.Image
    facts: ImageFacts
    warnings: tuple[str, ...]


def prepare(data: bytes, family: Family, limits: Limits) -> Prepared:
    """Decode `data` for a model of `family`; `PictureError` when it is no picture we can use."""
    image = _open(data, limits)
    orientation = _orientation(image)
    sideways = orientation in SIDEWAYS
    # Of a TIFF, Pillow tells the upright size and turns it while loading.
    turned = image.format == "TIFF"
    upright = image.size[::-1] if sideways and not turned else image.size
    stored = upright[::-1] if sideways else upright
    size = family.model_size(*upright)
    as_stored = size[::-1] if sideways and not turned else size
    drafted = image.draft("RGB", as_stored)  # JPEG only; never below that size
    _load(image)
    noted = ["cmyk_ambiguous"] if _ambiguous(image) else []
    flat = _to_rgb(image, limits.background, noted)
    # A smaller decode is rounded up to whole pixels; only the part that the picture covers counts.
    covered = drafted[1] if drafted else None
    resized = flat.resize(as_stored, Image.Resampling.BICUBIC, box=covered, reducing_gap=3.0)
    seen = resized if turned or orientation == 1 else resized.transpose(TURNS[orientation])
    facts = ImageFacts(
        format=(image.format or "unknown").lower(),
        width=upright[0],
        height=upright[1],
        stored_width=stored[0],
        stored_height=stored[1],
        orientation=orientation,
        model_width=size[0],
        model_height=size[1],
    )
    return Prepared(seen, facts, tuple(noted))


def _open(data: bytes, limits: Limits) -> Image.Image:
    if not data:
        raise PictureError("empty_object", "the object is empty")
    if len(data) > limits.max_bytes:
        raise PictureError(
            "image_too_large", f"{len(data)} bytes; allowed: up to {limits.max_bytes}"
        )
    try:
        image = Image.open(io.BytesIO(data), formats=FORMATS)
    except UnidentifiedImageError as error:
        raise _unidentified(data) from error
    except Exception as error:  # decoders raise anything on a broken header
        raise _broken(error) from error
    pixels = image.width * image.height
    if pixels > limits.max_pixels:
        raise PictureError(
            "image_too_large",
            f"{image.width}x{image.height} is {pixels} pixels; allowed: up to {limits.max_pixels}",
        )
    return image


def _unidentified(data: bytes) -> PictureError:
    """What the object is instead, by its first bytes: names and media types are often wrong."""
    for signature, kind in SIGNATURES.items():
        if data.startswith(signature):
            return PictureError("image_broken", f"the header of the {kind} is cut or broken")
    brand = data[8:12].decode("latin-1").strip()
    if data[4:8] == b"ftyp" and brand.isascii() and brand.isalnum():
        return PictureError(f"unsupported_format:{brand}", f"no decoder for {brand}, or it is cut")
    for mark, kind in FOREIGN.items():
        if data[:64].lstrip().lower().startswith(mark):
            return PictureError("not_an_image", f"the object is {kind}")
    return PictureError("not_an_image", f"no picture format begins with {data[:8]!r}")


def _broken(error: Exception) -> PictureError:
    cut = "truncated" in str(error).lower() or isinstance(error, EOFError)
    code = "image_truncated" if cut else "image_broken"
    return PictureError(code, f"{type(error).__name__}: {error}")


def _orientation(image: Image.Image) -> int:
    try:
        value = image.getexif().get(ORIENTATION_TAG, 1)
    except Exception:  # broken EXIF is no reason to lose the picture
        return 1
    return value if value in range(1, 9) else 1


def _load(image: Image.Image) -> None:
    try:
        image.load()
    except Exception as error:  # decoders raise anything on broken data
        raise _broken(error) from error


def _ambiguous(image: Image.Image) -> bool:
    """Whether it is unknown if this CMYK is inverted: Adobe's marker says so, and it is missing."""
    return image.mode == "CMYK" and image.format == "JPEG" and "adobe" not in image.info


def _to_rgb(image: Image.Image, background: tuple[int, int, int], noted: list[str]) -> Image.Image:
    if image.mode.startswith(("I", "F")):
        noted.append("depth_reduced")
        return _scaled_to_8_bits(image).convert("RGB")
    profile = image.info.get("icc_profile")
    if image.mode not in ("RGBA", "LA", "PA", "La", "RGBa") and "transparency" not in image.info:
        return _in_srgb(image, profile, noted)
    rgba = image.convert("RGBA")
    opaque = image.convert("L") if image.mode == "LA" else rgba.convert("RGB")
    ground = Image.new("RGB", image.size, background)
    ground.paste(_in_srgb(opaque, profile, noted), mask=rgba.getchannel("A"))
    return ground


def _in_srgb(image: Image.Image, profile: bytes | None, noted: list[str]) -> Image.Image:
    return _through_profile(image, profile, noted) if profile else image.convert("RGB")


def _scaled_to_8_bits(image: Image.Image) -> Image.Image:
    values = np.asarray(image, dtype=np.float32)
    shares = np.nan_to_num(values / _white(image, values), nan=0, posinf=1, neginf=0)
    return Image.fromarray((np.clip(shares, 0, 1) * 255 + 0.5).astype(np.uint8))


def _white(image: Image.Image, values: np.ndarray) -> float:
    """The value that is white. Wider numbers do not say: the first usual one that none exceeds."""
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format == "PPM"):
        return 65535.0
    top = float(values[np.isfinite(values)].max(initial=0))
    usual = (1.0, 255.0, 65535.0) if image.mode == "F" else (255.0, 65535.0)
    return next((white for white in usual if top <= white), top)


def _through_profile(image: Image.Image, profile: bytes, noted: list[str]) -> Image.Image:
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        base = image if image.mode in ("RGB", "CMYK", "L") else image.convert("RGB")
        target = ImageCms.createProfile("sRGB")
        converted = ImageCms.profileToProfile(base, source, target, outputMode="RGB")
        assert converted is not None, "only in-place conversion answers None"
        return converted
    except (ImageCms.PyCMSError, OSError, ValueError):
        noted.append("icc_unusable")
        return image.convert("RGB")
