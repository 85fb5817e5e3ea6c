"""What is asked about each picture: prompt, answer schema, and where boxes are in the answer.

The planner and the worker get a `Task`; whether it was a preset or the manifest's own is over here.
"""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from jobs.manifest import CustomTask, PresetName

LARGEST_PIXEL = 16384


@dataclass(frozen=True, slots=True)
class Task:
    """A question and the form of its answers.

    schema       JSON Schema that every answer meets, in the order the model writes its keys
    box_field    the key whose values are `[x1, y1, x2, y2]` in pixels of the picture as the model
                 sees it, to be mapped back to the original; None when no key is known to be one
    """

    name: str
    prompt: str
    schema: dict[str, Any]
    box_field: str | None = None

    @property
    def boxes(self) -> bool:
        """Whether answers hold boxes to map back."""
        return self.box_field is not None


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_PIXEL = {"type": "integer", "minimum": 0, "maximum": LARGEST_PIXEL}
_DEFECT = _object(
    kind={"type": "string", "enum": ["scratch", "hole", "stain", "dent"]},
    bbox={"type": "array", "items": _PIXEL, "minItems": 4, "maxItems": 4},
)

PRESETS: dict[PresetName, Task] = {
    "inspection": Task(
        name="inspection",
        # Word for word what the bundled model was trained on.
        prompt=(
            "Inspect this machined part. Answer with a verdict, ok or defective, and every defect: "
            "its kind (scratch, hole, stain or dent) and its bbox in pixels."
        ),
        schema=_object(
            verdict={"type": "string", "enum": ["ok", "defective"]},
            defects={"type": "array", "items": _DEFECT, "maxItems": 8},
        ),
        box_field="bbox",
    )
}


def resolve_task(task: PresetName | CustomTask) -> Task:
    """The task that a manifest names or spells out; its schema is the caller's own copy."""
    if isinstance(task, CustomTask):
        return Task("custom", task.prompt, deepcopy(task.json_schema))
    preset = PRESETS[task]
    return Task(preset.name, preset.prompt, deepcopy(preset.schema), preset.box_field)
