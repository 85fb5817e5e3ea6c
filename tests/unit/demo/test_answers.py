"""What the bundled model was taught is what the product asks: prompt, answers, sizes."""

import json

import pytest
from jsonschema import Draft202012Validator

from demo.answers import FACTOR, LARGEST_SIDE, MAX_PIXELS, MIN_PIXELS, PROMPT, answer_text, scaled
from demo.defects import KINDS, Defect
from infra.models.folder import find_model
from jobs.tasks import PRESETS
from worker.families import load_family

PRESET = PRESETS["inspection"]


def test_the_prompt_is_word_for_word_that_of_the_preset():
    assert PRESET.prompt == PROMPT


@pytest.mark.parametrize(
    "defects",
    [
        [],
        [Defect("hole", (1, 2, 3, 4))],
        [Defect(kind, (number, 0, 400, 300)) for number, kind in enumerate(KINDS * 2)],
    ],
)
def test_answers_are_valid_under_the_presets_schema_and_in_its_order(defects):
    answer = json.loads(answer_text(defects))
    Draft202012Validator(PRESET.schema).validate(answer)
    assert list(answer) == list(PRESET.schema["properties"])
    assert len(answer["defects"]) == len(defects)


def test_an_answer_is_spelled_as_the_engines_grammar_forces_it():
    text = answer_text([Defect("dent", (10, 20, 30, 40))])
    assert text == (
        '{"verdict": "defective", "defects": [{"kind": "dent", "bbox": [10, 20, 30, 40]}]}'
    )
    assert answer_text([]) == '{"verdict": "ok", "defects": []}'


def test_the_presets_kinds_are_those_that_are_drawn():
    items = PRESET.schema["properties"]["defects"]["items"]
    assert items["properties"]["kind"]["enum"] == list(KINDS)


def test_the_bundled_model_sees_pictures_at_the_sizes_it_was_trained_on():
    family = load_family(find_model("zeroshift/parts-inspector").folder, None, None)
    assert (family.factor, family.boxes) == (FACTOR, "model_pixels")
    assert (family.min_pixels, family.max_pixels) == (MIN_PIXELS, MAX_PIXELS)


@pytest.mark.parametrize("size", [(1280, 960), (1920, 1080), (800, 800), (960, 1280), (1500, 500)])
def test_no_camera_makes_a_side_longer_than_a_number_the_model_can_write(size):
    family = load_family(find_model("zeroshift/parts-inspector").folder, None, None)
    assert max(family.model_size(*size)) <= LARGEST_SIDE


def test_boxes_are_scaled_to_whole_pixels():
    assert scaled((10, 20, 30, 40), 0.25, 0.5) == (2, 10, 8, 20)
