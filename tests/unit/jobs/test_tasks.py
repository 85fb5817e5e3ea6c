"""The preset is what the bundled model was trained on; a custom task is taken as it stands."""

from typing import get_args

import jsonschema
import pytest

from jobs.manifest.task import CustomTask, PresetName
from jobs.tasks import PRESETS, resolve_task

DEFECT = {"kind": "hole", "bbox": [0, 1, 2, 16384]}


def test_every_preset_that_a_manifest_may_name_exists():
    assert set(PRESETS) == set(get_args(PresetName))
    assert all(name == task.name for name, task in PRESETS.items())


def test_the_prompt_of_inspection_is_word_for_word_the_trained_one():
    assert resolve_task("inspection").prompt == (
        "Inspect this machined part. Answer with a verdict, ok or defective, and every defect: its "
        "kind (scratch, hole, stain or dent) and its bbox in pixels."
    )


def test_the_answer_has_its_keys_in_the_trained_order():
    schema = resolve_task("inspection").schema
    assert list(schema["properties"]) == ["verdict", "defects"]
    assert list(schema["properties"]["defects"]["items"]["properties"]) == ["kind", "bbox"]


@pytest.mark.parametrize(
    "answer",
    [
        {"verdict": "ok", "defects": []},
        {"verdict": "defective", "defects": [DEFECT] * 8},
    ],
)
def test_a_right_answer_meets_the_schema(answer):
    schema = resolve_task("inspection").schema
    jsonschema.Draft202012Validator.check_schema(schema)
    assert jsonschema.Draft202012Validator(schema).is_valid(answer)


@pytest.mark.parametrize(
    "answer",
    [
        {"verdict": "fine", "defects": []},
        {"verdict": "ok"},
        {"verdict": "ok", "defects": [], "more": 1},
        {"verdict": "defective", "defects": [DEFECT] * 9},
        {"verdict": "defective", "defects": [{**DEFECT, "kind": "rust"}]},
        {"verdict": "defective", "defects": [{**DEFECT, "more": 1}]},
        {"verdict": "defective", "defects": [{**DEFECT, "bbox": [0, 1, 2]}]},
        {"verdict": "defective", "defects": [{**DEFECT, "bbox": [0, 1, 2, 3, 4]}]},
        {"verdict": "defective", "defects": [{**DEFECT, "bbox": [-1, 1, 2, 3]}]},
        {"verdict": "defective", "defects": [{**DEFECT, "bbox": [0, 1, 2, 16385]}]},
        {"verdict": "defective", "defects": [{**DEFECT, "bbox": [0, 1, 2, 0.5]}]},
    ],
)
def test_a_wrong_answer_does_not_meet_the_schema(answer):
    assert not jsonschema.Draft202012Validator(resolve_task("inspection").schema).is_valid(answer)


def test_only_presets_have_boxes_to_map_back():
    schema = {"type": "object", "properties": {"bbox": {"type": "array"}}}
    custom = resolve_task(CustomTask(prompt="Where?", schema=schema))
    assert (custom.name, custom.prompt, custom.schema) == ("custom", "Where?", schema)
    assert custom.box_field is None
    assert not custom.boxes
    preset = resolve_task("inspection")
    assert preset.box_field == "bbox"
    assert preset.boxes


def test_a_task_that_is_changed_by_its_user_leaves_the_preset_alone():
    resolve_task("inspection").schema.clear()
    assert resolve_task("inspection").schema
