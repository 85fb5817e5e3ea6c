"""The inspection answer as the bundled model learns it: text, prompt and sizes.

The text is exactly what the engine's JSON grammar forces when whitespace is off: `", "` between
items and `": "` after keys. A model trained on any other spelling is wrong as soon as the grammar
is on, so training and serving share this module's view of it.
"""

import json
from collections.abc import Sequence

from demo.defects import Defect

PROMPT = (
    "Inspect this machined part. Answer with a verdict, ok or defective, and every defect: "
    "its kind (scratch, hole, stain or dent) and its bbox in pixels."
)
Box = tuple[int, int, int, int]
FACTOR = 28  # pixels of a side that become one language-model token
MIN_PIXELS = 32 * FACTOR * FACTOR
MAX_PIXELS = 48 * FACTOR * FACTOR
LARGEST_SIDE = 420


def answer_text(defects: Sequence[Defect]) -> str:
    """The answer for `defects`, whose boxes are in pixels of the picture that the model sees."""
    found = [{"kind": d.kind, "bbox": list(d.box)} for d in defects]
    return json.dumps({"verdict": "defective" if found else "ok", "defects": found})


def scaled(box: Box, scale_x: float, scale_y: float) -> Box:
    x1, y1, x2, y2 = box
    return round(x1 * scale_x), round(y1 * scale_y), round(x2 * scale_x), round(y2 * scale_y)
