"""How a family of models sees pictures: the grid of sizes, and the space that boxes are in.

Read from the model's own files, so that our resize and the engine's processor agree and the
processor has nothing left to resize.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from worker.errors import PictureError, ShardFailed

BoxSpace = Literal["model_pixels", "relative_1000"]
MOST_EXTREME_RATIO = 200
BOX_SPACES: dict[str, BoxSpace] = {
    "qwen2_vl": "relative_1000",
    "qwen2_5_vl": "model_pixels",
    "qwen3_vl": "relative_1000",
    "qwen3_vl_moe": "relative_1000",
}
# Patch, minimum and maximum pixels of the published checkpoints, for a model without its own.
QWEN_MIN_PIXELS, QWEN_MAX_PIXELS = 3136, 12845056
QWEN2_DEFAULTS = (14, QWEN_MIN_PIXELS, QWEN_MAX_PIXELS)
QWEN3_DEFAULTS = (16, 65536, 16777216)


@dataclass(frozen=True, slots=True)
class Family:
    """Both sides are multiples of `factor`, their product within the pixel bounds if it can be."""

    factor: int
    min_pixels: int
    max_pixels: int
    boxes: BoxSpace

    def model_size(self, width: int, height: int) -> tuple[int, int]:
        """The size at which a `width` x `height` picture is seen: Qwen's published smart_resize.

        `PictureError` `aspect_ratio` for pictures more than 200 times as long as wide.
        """
        ratio = max(width, height) / min(width, height)
        if ratio > MOST_EXTREME_RATIO:
            raise PictureError(
                "aspect_ratio",
                f"{width}x{height} is {ratio:.0f} times as long as wide; allowed: up to "
                f"{MOST_EXTREME_RATIO}",
            )
        w, h = (self._snap(side, round) for side in (width, height))  # 0 if thin: grown below
        if w * h > self.max_pixels:
            shrink = math.sqrt(width * height / self.max_pixels)
            w, h = (
                max(self.factor, self._snap(side / shrink, math.floor)) for side in (width, height)
            )
        elif w * h < self.min_pixels:
            grow = math.sqrt(self.min_pixels / (width * height))
            w, h = (self._snap(side * grow, math.ceil) for side in (width, height))
        return w, h

    def _snap(self, side: float, rounding: Any) -> int:
        return int(rounding(side / self.factor)) * self.factor


def load_family(folder: Path, min_pixels: int | None, max_pixels: int | None) -> Family:
    """The family of the model in `folder`; the job's pixel bounds, when given, come first.

    `ShardFailed` when the family is unknown: no picture of the job can be prepared for it.
    """
    model_type = _read(folder / "config.json").get("model_type", "unknown")
    if model_type not in BOX_SPACES:
        known = ", ".join(BOX_SPACES)
        raise ShardFailed(f"unknown family: model type {model_type!r}; allowed: {known}")
    processor = _processor(folder)
    defaults = QWEN3_DEFAULTS if model_type.startswith("qwen3") else QWEN2_DEFAULTS
    patch, least, most = defaults
    factor = int(processor.get("patch_size", patch)) * int(processor.get("merge_size", 2))
    size = processor.get("size") or {}
    low = min_pixels or processor.get("min_pixels") or size.get("shortest_edge")
    high = max_pixels or processor.get("max_pixels") or size.get("longest_edge")
    return Family(factor, int(low or least), int(high or most), BOX_SPACES[model_type])


def _processor(folder: Path) -> dict[str, Any]:
    """The image processor's settings: a file of its own, or nested in the processor's."""
    plain = _read(folder / "preprocessor_config.json")
    nested = _read(folder / "processor_config.json").get("image_processor")
    return plain or nested or {}


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    parsed: dict[str, Any] = json.loads(path.read_text())
    return parsed
