"""The grammar forces a model's own spelling of JSON, and a sample shows when it does not."""

import json

import pytest

from jobs.manifest.output import FORMATS
from jobs.order import AnswerFormat
from jobs.tasks import PRESETS
from worker.engines.base import Question
from worker.engines.grammar import grammar_of, with_every_field
from worker.grammar_check import Comparison

SCHEMA = PRESETS["inspection"].schema
ANSWER = {"verdict": "defective", "defects": [{"kind": "dent", "bbox": [1, 2, 30, 40]}]}
OPTIONAL = {
    "type": "object",
    "properties": {"a": {"type": "boolean"}, "b": {"type": "boolean"}},
    "required": ["b"],
    "additionalProperties": False,
}


def accepts(grammar: str, text: str) -> bool:
    from xgrammar import Grammar
    from xgrammar.testing import _is_grammar_accept_string

    return bool(_is_grammar_accept_string(Grammar.from_ebnf(grammar), text))


compiled = pytest.mark.slow  # xgrammar imports torch


def spelled(value: object, form: AnswerFormat) -> str:
    separators = (form.item_separator, form.key_separator)
    text = json.dumps(value, separators=separators, indent=form.indent)
    return f"```json\n{text}\n```" if form.fenced else text


FORMS = {**FORMATS, "fenced": AnswerFormat(fenced=True)}


@compiled
@pytest.mark.parametrize("name", FORMS)
def test_a_format_takes_its_own_spelling_and_no_other(name):
    pytest.importorskip("xgrammar")
    grammar = grammar_of(SCHEMA, FORMS[name])
    taken = [other for other in FORMS if accepts(grammar, spelled(ANSWER, FORMS[other]))]
    assert taken == [name]


@compiled
def test_a_number_that_the_schema_bounds_can_not_run_on():
    pytest.importorskip("xgrammar")
    grammar = grammar_of(SCHEMA, AnswerFormat())
    far = {"verdict": "defective", "defects": [{"kind": "dent", "bbox": [1, 2, 3, 163153153]}]}
    assert not accepts(grammar, json.dumps(far))


@compiled
def test_optional_fields_may_be_left_out_or_are_always_written():
    pytest.importorskip("xgrammar")
    free, whole = (grammar_of(OPTIONAL, AnswerFormat(optional=how)) for how in ("omit", "always"))
    short, long = '{"b": true}', '{"a": false, "b": true}'
    assert [accepts(free, short), accepts(free, long)] == [True, True]
    assert [accepts(whole, short), accepts(whole, long)] == [False, True]


@compiled
def test_keys_come_in_the_order_of_the_schema_or_in_any():
    pytest.importorskip("xgrammar")
    turned = '{"defects": [], "verdict": "ok"}'
    assert not accepts(grammar_of(SCHEMA, AnswerFormat()), turned)
    assert accepts(grammar_of(SCHEMA, AnswerFormat(any_key_order=True)), turned)


def test_every_field_is_required_at_every_depth():
    schema = {"type": "array", "items": OPTIONAL}
    assert with_every_field(schema)["items"]["required"] == ["a", "b"]
    assert OPTIONAL["required"] == ["b"]


def compare(forced: str, free: str, schema: dict = SCHEMA) -> Comparison:
    found = Comparison()
    found.add(forced, free, schema)
    return found


GOOD = json.dumps(ANSWER)


@pytest.mark.parametrize(
    ("free", "agreed", "same"),
    [
        (GOOD, 1, 1),
        (json.dumps(ANSWER, separators=(",", ":")), 1, 1),
        (f"```json\n{GOOD}\n```", 1, 1),
        (GOOD.replace("30", "33"), 1, 0),
        (GOOD.replace("dent", "hole"), 0, 0),
        ('{"verdict": "ok", "defects": []}', 0, 0),
        ("The part has a dent.", 0, 0),
        ("", 0, 0),
    ],
)
def test_answers_agree_when_their_choices_do_however_they_are_spelled(free, agreed, same):
    found = compare(GOOD, free)
    assert (found.asked, found.agreed, found.same) == (1, agreed, same)
    assert len(found.examples) == 1 - agreed


def test_a_sample_of_the_first_shard_is_asked_without_the_grammar_too(shard, engine, picture):
    schema = {"type": "object", "properties": {"red": {"enum": [1, 2]}}, "required": ["red"]}

    def rule(question: Question) -> str:
        return '{"red": 1}' if question.answer_schema else '{"red": 2}'

    asked = engine(rule)
    shard.put([picture(1)] * 9)
    marker = shard.work(asked, answer_schema=schema, grammar_check=3)
    check = marker.grammar_check
    assert (check.asked, check.agreed, check.same) == (3, 0, 0)
    assert "without" in check.examples[0]
    assert len(asked.asked) == 12
    assert [row.output for row in shard.rows()] == [{"red": 1}] * 9


def test_without_a_sample_nothing_is_asked_twice(shard, engine, picture):
    asked = engine()
    shard.put([picture(1)] * 3)
    assert shard.work(asked).grammar_check is None
    assert len(asked.asked) == 3


def test_the_models_format_is_forced_unless_the_order_says_another(shard, engine, picture):
    asked = engine()
    shard.put([picture(1)])
    shard.work(asked)
    shard.put([picture(1)])
    shard.work(asked, answer_format={"item_separator": ",", "key_separator": ":"})
    assert [question.spelled.key_separator for question in asked.questions] == [": ", ":"]
