"""How sure the model was of each choice, from the tokens that its text overlaps."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.tasks import PRESETS
from worker.confidence import confidence
from worker.engines.base import Answer, Question

SCHEMA = PRESETS["inspection"].schema


def answer(*tokens: tuple[str, float]) -> Answer:
    text, ends = "", []
    for said, _ in tokens:
        text += said
        ends.append(len(text))
    logprobs = tuple(math.log(chance) for _, chance in tokens)
    return Answer("r", text, "stop", 1, 1, len(tokens), 0.0, 0.0, tuple(ends), logprobs)


def test_the_probability_of_a_choice_is_that_of_the_tokens_it_is_made_of():
    tokens = [('{"verdict": ', 0.5), ('"', 1), ("def", 0.8), ('ective"', 0.5)]
    found = confidence(answer(*tokens, (', "defects": []}', 0.1)), 0, SCHEMA)
    assert found == {"verdict": pytest.approx(0.4)}


def test_choices_in_lists_have_their_paths_and_numbers_have_none():
    said = json.dumps(
        {
            "verdict": "defective",
            "defects": [{"kind": k, "bbox": [1, 2, 3, 4]} for k in ("dent", "hole")],
        }
    )
    found = confidence(answer((said, 0.25)), 0, SCHEMA)
    assert list(found) == ["verdict", "defects[0].kind", "defects[1].kind"]
    assert set(found.values()) == {0.25}


def test_choices_behind_references_and_among_alternatives_are_found():
    schema = {
        "$defs": {"grade": {"enum": ["A", "B"]}},
        "type": "object",
        "properties": {
            "grade": {"$ref": "#/$defs/grade"},
            "sure": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
            "note": {"type": "string"},
        },
    }
    said = '{"note": "a \\"b\\": [1]", "sure": true, "grade": "A"}'
    assert set(confidence(answer((said, 0.5)), 0, schema)) == {"sure", "grade"}


def test_a_bare_choice_has_an_empty_path():
    assert confidence(answer(('"A"', 0.5)), 0, {"enum": ["A"]}) == {"": 0.5}


values = st.recursive(
    st.sampled_from(["yes", "no"]) | st.integers() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(values, st.sampled_from([None, 2]))
def test_any_answer_is_walked_to_its_end_however_it_is_spelled(value, indent):
    schema = {"$defs": {"v": {}}, "$ref": "#/$defs/v"}
    schema["$defs"]["v"] = {
        "anyOf": [
            {"enum": ["yes", "no"]},
            {"type": "array", "items": {"$ref": "#/$defs/v"}},
            {"type": "object", "additionalProperties": {"$ref": "#/$defs/v"}},
        ]
    }
    found = confidence(answer((json.dumps(value, indent=indent), 0.5)), 0, schema)
    assert all(0 <= each <= 1 for each in found.values())


def test_rows_tell_the_confidence_when_it_is_asked_for(shard, engine, picture):
    schema = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}

    def rule(question: Question) -> Answer:
        text = '{"sure": true}'
        ends, logs = (8, len(text)), (0.0, math.log(0.7))
        return Answer(question.request_id, text, "stop", 1, 1, 2, 0.0, 0.0, ends, logs)

    shard.put([picture(1)])
    asked = engine(rule)
    shard.work(asked, answer_schema=schema, confidence=True)
    assert shard.rows()[0].confidence == {"sure": pytest.approx(0.7)}
    assert asked.questions[0].probabilities
    shard.put([picture(1)])
    shard.work(asked, answer_schema=schema)
    assert shard.rows()[0].confidence is None
    assert not asked.questions[1].probabilities


def test_the_confidence_of_a_fenced_answer_is_found_behind_its_fence(shard, engine, picture):
    schema = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}
    text = '```json\n{"sure": true}\n```'

    def rule(question: Question) -> Answer:
        ends, logs = (16, 20, len(text)), (0.0, 0.0, math.log(0.5))
        return Answer(question.request_id, text, "stop", 1, 1, 3, 0.0, 0.0, ends, logs)

    shard.put([picture(1)])
    shard.work(engine(rule), answer_schema=schema, confidence=True, answer_format={"fenced": True})
    assert set(shard.rows()[0].confidence) == {"sure"}
