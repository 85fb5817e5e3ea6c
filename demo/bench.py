"""`make bench`: preparing a picture against decoding it in full and the model's own processor.

Both on one core, taken in turns in one run. Prints pictures a second and their ratio; ratios are
what to quote, for machines differ. The processor also cuts the picture into patches: the last
column has it do so with the prepared picture too, of which there is nothing left to resize.
"""

import io
import sys
import time
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from PIL import Image
from rich.console import Console
from rich.table import Table

from demo.parts import draw_part
from worker.families import Family, load_family
from worker.pictures import Limits, prepare

SIZES, SECONDS = ((1280, 960), (3840, 2160), (6000, 4000)), 3.0
COLUMNS = ("JPEG", "prepared/s", "in full/s", "ratio", "ratio with the processor")


def main() -> int:
    folder = Path(str(files("demo"))) / "model"
    family, processor = load_family(folder, None, None), _processor(folder)
    table = Table(box=None, pad_edge=False)
    for name in COLUMNS:
        table.add_column(name, justify="left" if name == "JPEG" else "right")
    for width, height in SIZES:
        table.add_row(f"{width}x{height}", *_row(_jpeg(width, height), family, processor))
    Console().print(table)
    return 0


def _row(data: bytes, family: Family, processor: Any) -> Sequence[str]:
    def prepared() -> Image.Image:
        return prepare(data, family, Limits()).image

    def in_full() -> Image.Image:
        return Image.open(io.BytesIO(data)).convert("RGB")

    ours, full, patched = _rates(
        prepared, lambda: processor(in_full()), lambda: processor(prepared())
    )
    return f"{ours:.1f}", f"{full:.1f}", f"{ours / full:.1f}x", f"{patched / full:.1f}x"


def _processor(folder: Path) -> Any:
    """The model's image processor on one thread, as vLLM would call it."""
    import torch
    from transformers import AutoImageProcessor

    torch.set_num_threads(1)
    processor = AutoImageProcessor.from_pretrained(str(folder))
    return lambda image: processor(images=image, return_tensors="pt")


def _jpeg(width: int, height: int) -> bytes:
    body = io.BytesIO()
    small = draw_part(1, 1280, 960).image
    small.resize((width, height)).save(body, "JPEG", quality=90)
    return body.getvalue()


def _rates(*calls: Callable[[], object]) -> Sequence[float]:
    """Calls a second of each, taken in turns so that a change in the machine's speed hits all."""
    spent, rounds = [0.0] * len(calls), 0
    while sum(spent) < len(calls) * SECONDS:
        for index, call in enumerate(calls):
            began = time.perf_counter()
            call()
            spent[index] += time.perf_counter() - began
        rounds += 1
    return [rounds / each for each in spent]


if __name__ == "__main__":
    sys.exit(main())
