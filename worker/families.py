"""How a family of models sees and writes: the grid of sizes, the space of boxes, the spelling.

Read from the model's own files, so that our resize and the engine's processor agree and the
processor has nothing left to resize. A model that was trained on another spelling of JSON than its
family's says so in a file `zeroshift.json` beside its weights: {"answer_format": {...}}.
"""

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from jobs.order import AnswerFormat
from worker.errors import PictureError, ShardFailed

BoxSpace = Literal["model_pixels", "relative_1000"]
MOST_EXTREME_RATIO = 200
BOX_SPACES: dict[str, BoxSpace] = {
    "qwen2_vl": "relative_1000",
    "qwen2_5_vl": "model_pixels",
    "qwen3_vl": "relative_1000",
    "qwen3_vl_moe": "relative_1000",
}
SPACED = AnswerFormat()  # `", "` and `": "`, as Python writes JSON, and so most training data
# How a family writes JSON when nothing forces it, where that is not so.
FORMATS: dict[str, AnswerFormat] = {}
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
    answers: AnswerFormat = SPACED

    def tokens(self, width: int, height: int) -> int:
        """Language-model tokens of a picture of that size, which is one of the grid's."""
        return (width // self.factor) * (height // self.factor)

    def narrowed(self, tokens: int | None) -> "Family":
        """This family with at most so many tokens a picture; pictures below it stay as they are."""
        if tokens is None or tokens * self.factor**2 >= self.max_pixels:
            return self
        most = tokens * self.factor**2
        # A tiny picture is enlarged to the minimum, rounded up: that must stay below the budget.
        return replace(self, max_pixels=most, min_pixels=min(self.min_pixels, most // 4))

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
    space, answers = BOX_SPACES[model_type], _answer_format(folder, model_type)
    return Family(factor, int(low or least), int(high or most), space, answers)


def _answer_format(folder: Path, model_type: str) -> AnswerFormat:
    said = _read(folder / "zeroshift.json").get("answer_format")
    if said is None:
        return FORMATS.get(model_type, SPACED)
    try:
        return AnswerFormat.model_validate(said)
    except ValidationError as error:
        raise ShardFailed(f"{folder / 'zeroshift.json'}: answer_format: {error}") from error


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
