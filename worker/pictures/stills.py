"""A picture by Pillow: header first, limits before any pixel, then one frame upright at its size.

`admit` is asked before a frame is decoded, with the MiB that this takes: it waits for its turn.
"""

import importlib
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from PIL import Image, ImageFile

from jobs.rows import ImageFacts
from worker.errors import PictureError
from worker.families import Family
from worker.pictures.bounds import Limits
from worker.pictures.colours import Box, to_srgb
from worker.pictures.costs import decode_mib
from worker.pictures.faults import broken
from worker.pictures.formats import STILLS, unsupported
from worker.pictures.quirks import largest_inside, learn_tiffs, refuse_misread, without_false_alpha

Admit = Callable[[int, float], None]  # frame, MiB
Size = tuple[int, int]

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
# A JPEG is decoded at a fraction, but never below this many times the size that is wanted. Against
# a full decode, grainy photographs with letters kept 38 dB at once the size, 42 dB at 1.4 times and
# 47 dB at twice, which is half as fast.
DRAFT_GAP = 1.4

Image.MAX_IMAGE_PIXELS = None  # our own limit holds before anything is decoded
# Once and for all: `catch_warnings` around each decode would corrupt the filters, which all threads
# share. What Pillow warns of is an error here or does not matter.
warnings.filterwarnings("ignore", module=r"PIL\.")


@dataclass(frozen=True, slots=True)
class Prepared:
    """An RGB picture of exactly the model's size; `warnings` name what could not be kept.

    frame    which page or frame of the file it is; of a video, which of the sampled ones
    time_s   seconds from the start of an animation or a video, where that is known
    """

    image: Image.Image
    facts: ImageFacts
    warnings: tuple[str, ...]
    frame: int = 0
    time_s: float | None = None


def open_still(data: bytes, kind: str, limits: Limits) -> ImageFile.ImageFile:
    """The header of `data`; nothing is decoded yet. `PictureError` when it can't be read."""
    try:
        importlib.import_module(STILLS[kind])
    except ImportError as error:
        raise unsupported(kind) from error
    if kind == "ico":
        refuse_large(largest_inside(data), limits)
    if kind == "tiff":
        learn_tiffs()
    plugin = "HEIF" if kind == "heic" else kind.upper()
    try:
        # The plugin itself and not `Image.open`, which swallows why it can't read the file.
        image: ImageFile.ImageFile = Image.OPEN[plugin][0](io.BytesIO(data), "")
    except Exception as error:  # decoders raise anything on a broken header
        raise broken(error, data, kind) from error
    return image


def prepare_still(
    image: ImageFile.ImageFile,
    data: bytes,
    kind: str,
    family: Family,
    limits: Limits,
    admit: Admit,
) -> Prepared:
    """The frame that `image` stands at, decoded for a model of `family`."""
    tiles = list(image.tile)
    whole, orientation, covered = _decode(image, data, kind, family, limits, admit)
    # Of a TIFF, Pillow tells the upright size and turns it while loading.
    left = 1 if kind == "tiff" else orientation
    upright = turned(whole, left)
    size = family.model_size(*upright)
    solid, noted = without_false_alpha(image, data, kind), list[str]()
    flat = to_srgb(solid, turned(size, left), covered, limits.background, tiles, noted)
    seen = flat if left == 1 else flat.transpose(TURNS[left])
    facts = _facts(image, kind, upright, turned(upright, orientation), orientation, size)
    return Prepared(seen, facts, tuple(noted), image.tell())


def _decode(
    image: ImageFile.ImageFile,
    data: bytes,
    kind: str,
    family: Family,
    limits: Limits,
    admit: Admit,
) -> tuple[Size, int, Box | None]:
    """Load the pixels when all limits hold; its whole size, orientation, and see `_draft`."""
    whole = image.size
    refuse_misread(image, kind)
    refuse_large(whole, limits)
    family.model_size(*whole)  # refuses what is too thin, before it is decoded
    # Of a PNG it may stand behind the pixels, and what is once read is kept.
    orientation = 1 if kind == "png" else _orientation(image)
    covered = _draft(image, orientation, family) if kind == "jpeg" else None
    admit(image.tell(), decode_mib(image, kind, whole, data))
    _load(image, data, kind)
    if kind == "png":
        orientation = _orientation(image)
    return (image.size if covered is None else whole), orientation, covered


def refuse_large(size: Size, limits: Limits) -> None:
    """`PictureError` `image_too_large` for a frame of more pixels than allowed."""
    width, height = size
    if width * height > limits.max_pixels:
        raise PictureError(
            "image_too_large",
            f"{width}x{height} is {width * height} pixels; allowed: up to {limits.max_pixels}",
        )


def _orientation(image: Image.Image) -> int:
    try:
        # Not the plugin's own: of a PNG, it would decode the pixels to see what stands behind them.
        value = Image.Image.getexif(image).get(ORIENTATION_TAG, 1)
    except Exception:  # broken EXIF is no reason to lose the picture
        return 1
    return value if value in range(1, 9) else 1


def turned(size: Size, orientation: int) -> Size:
    """`size` as stored if it is upright, and the other way round."""
    return size[::-1] if orientation in SIDEWAYS else size


def _draft(image: Image.Image, orientation: int, family: Family) -> Box | None:
    """Have it decoded smaller; the part of the result that the picture covers, None if it isn't.

    A smaller decode is rounded up to whole pixels.
    """
    size = family.model_size(*turned(image.size, orientation))
    across, down = turned(size, orientation)
    drafted = image.draft("RGB", (int(across * DRAFT_GAP), int(down * DRAFT_GAP)))
    return drafted[1] if drafted else None


def _load(image: Image.Image, data: bytes, kind: str) -> None:
    try:
        image.load()
    except Exception as error:  # decoders raise anything on broken data
        raise broken(error, data, kind, getattr(image, "tag_v2", None)) from error


def _facts(
    image: Image.Image, kind: str, upright: Size, stored: Size, orientation: int, size: Size
) -> ImageFacts:
    return ImageFacts(
        format="mpo" if image.format == "MPO" else kind,
        width=upright[0],
        height=upright[1],
        stored_width=stored[0],
        stored_height=stored[1],
        orientation=orientation,
        model_width=size[0],
        model_height=size[1],
    )
