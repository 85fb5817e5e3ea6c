"""What is asked about each picture: prompt, answer schema, and where boxes are in the answer.

The planner and the worker get a `Task`; whether it was a preset or the manifest's own is over here.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

from jobs.manifest.task import CustomTask, PresetName, PresetTask
from jobs.tasks.catalogue import catalogue
from jobs.tasks.describing import caption, vqa
from jobs.tasks.inspection import inspection
from jobs.tasks.reading import ocr
from jobs.tasks.task import LARGEST_PIXEL, Task, placeholders

_MAKERS: dict[PresetName, Callable[..., Task]] = {
    "inspection": inspection,
    "ocr": ocr,
    "catalogue": catalogue,
    "caption": caption,
    "vqa": vqa,
}
PRESETS: dict[PresetName, Task] = {name: make() for name, make in _MAKERS.items()}


def resolve_task(task: PresetName | PresetTask | CustomTask) -> Task:
    """The task that a manifest names or spells out; its schema is the caller's own copy."""
    if isinstance(task, CustomTask):
        schema = task.json_schema
        assert isinstance(schema, dict), "a schema by import path is resolved at submission"
        return Task("custom", task.prompt, deepcopy(schema), task.box_field)
    if isinstance(task, PresetTask):
        return _changed(_MAKERS[task.preset](**task.options()), task)
    return deepcopy(PRESETS[task])


def _changed(task: Task, wanted: PresetTask) -> Task:
    changes: dict[str, Any] = {}
    if wanted.prompt is not None:
        changes["prompt"] = wanted.prompt
    if wanted.json_schema is not None:
        # The checks look for the preset's own fields, which another schema need not have.
        changes |= {"schema": deepcopy(wanted.json_schema), "checks": ()}
    return replace(deepcopy(task), **changes)


__all__ = ["LARGEST_PIXEL", "PRESETS", "Task", "placeholders", "resolve_task"]
