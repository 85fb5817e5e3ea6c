"""Sizes of pictures from the first bytes of a sample of them: what a dry run plans with.

Nothing is decoded. A picture whose header does not say, or lies beyond those bytes, is counted as
not read; the job itself tells what is wrong with it.
"""

import io
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from PIL import Image

from jobs.addresses import Address
from jobs.errors import PermanentError, TemporaryError
from jobs.store.bucket import Store

HEADER_BYTES = 128 * 1024  # EXIF with a thumbnail takes up to 64 KiB before a JPEG's size
SAMPLE = 64
READERS = 8
ORIENTATION, SIDEWAYS = 0x0112, (5, 6, 7, 8)


@dataclass(frozen=True, slots=True)
class SizeSample:
    """`sizes` are upright, in pixels, of the `read` pictures out of `asked` whose header said."""

    sizes: tuple[tuple[int, int], ...]
    asked: int

    @property
    def read(self) -> int:
        return len(self.sizes)


def sample_sizes(store: Store, addresses: Sequence[Address], most: int = SAMPLE) -> SizeSample:
    """Read the headers of up to `most` of `addresses`, spread evenly over them."""
    chosen = spread(addresses, most)
    with ThreadPoolExecutor(READERS, thread_name_prefix="headers") as threads:
        sizes = threads.map(lambda address: _size(store, address), chosen)
        return SizeSample(tuple(size for size in sizes if size), len(chosen))


def spread(items: Sequence[Address], most: int) -> list[Address]:
    """`most` of `items`, evenly apart; all when there are fewer."""
    if len(items) <= most:
        return list(items)
    return [items[i * len(items) // most] for i in range(most)]


def _size(store: Store, address: Address) -> tuple[int, int] | None:
    try:
        return size_in(store.read_start(address, HEADER_BYTES))
    except (PermanentError, TemporaryError):
        return None


def size_in(start: bytes) -> tuple[int, int] | None:
    """Upright width and height that a header says; None when it does not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of large pictures: nothing is decoded here
            image = Image.open(io.BytesIO(start))
        turned = image.format != "TIFF" and image.getexif().get(ORIENTATION) in SIDEWAYS
    except Exception:  # Pillow raises anything on a cut or broken header
        return None
    width, height = image.size
    if width < 1 or height < 1:
        return None
    return (height, width) if turned else (width, height)
