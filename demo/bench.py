"""`make bench`: preparing a picture against decoding it in full, one after the other in one run.

Prints pictures a second on one core and their ratio. Ratios are what to quote: machines differ.
"""

import io
import sys
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from PIL import Image
from rich.console import Console
from rich.table import Table

from demo.parts import draw_part
from worker.families import Family, load_family
from worker.picture import Limits, prepare

SIZES, SECONDS = ((1280, 960), (3840, 2160), (6000, 4000)), 3.0


def main() -> int:
    family = load_family(Path(str(files("demo"))) / "model", None, None)
    table = Table(box=None, pad_edge=False)
    for name in ("JPEG", "prepared/s", "in full/s", "ratio"):
        table.add_column(name, justify="left" if name == "JPEG" else "right")
    for width, height in SIZES:
        data = _jpeg(width, height)
        ours, full = _rates(
            lambda d=data: prepare(d, family, Limits()),  # type: ignore[misc]
            lambda d=data: _in_full(d, family),  # type: ignore[misc]
        )
        table.add_row(f"{width}x{height}", f"{ours:.1f}", f"{full:.1f}", f"{ours / full:.1f}x")
    Console().print(table)
    return 0


def _jpeg(width: int, height: int) -> bytes:
    body = io.BytesIO()
    small = draw_part(1, 1280, 960).image
    small.resize((width, height)).save(body, "JPEG", quality=90)
    return body.getvalue()


def _in_full(data: bytes, family: Family) -> Image.Image:
    image = Image.open(io.BytesIO(data)).convert("RGB")
    return image.resize(family.model_size(*image.size), Image.Resampling.BICUBIC)


def _rates(first: Callable[[], object], second: Callable[[], object]) -> tuple[float, float]:
    """Calls a second of both, taken in turns so that a change in the machine's speed hits both."""
    spent, calls = [0.0, 0.0], 0
    while sum(spent) < 2 * SECONDS:
        for index, call in enumerate((first, second)):
            began = time.perf_counter()
            call()
            spent[index] += time.perf_counter() - began
        calls += 1
    return calls / spent[0], calls / spent[1]


if __name__ == "__main__":
    sys.exit(main())
