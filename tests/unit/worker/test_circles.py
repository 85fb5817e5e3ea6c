"""White space without end, loops, refusals and empty answers are told apart from answers."""

import json

import pytest

from worker.check import check_answer
from worker.circles import refuses, runs_in_circles
from worker.errors import CheckError
from worker.task_checks import filled, verdict_matches_defects

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def code(text: str, finish_reason: str = "stop", schema: dict | None = None) -> str:
    with pytest.raises(CheckError) as caught:
        check_answer(text, finish_reason, TEXT if schema is None else schema)
    return caught.value.code


LOOP = "the cat sat on the mat and then "


@pytest.mark.parametrize("reason", ["length", "repetition"])
def test_an_answer_that_goes_in_circles_has_its_own_code(reason):
    assert code('{"text": "' + LOOP * 60, reason) == "repetition"


def test_a_loop_that_the_grammar_brought_to_an_end_is_no_answer():
    assert code(json.dumps({"text": LOOP * 60})) == "repetition"


def test_what_the_engine_stopped_for_repeating_itself_is_no_cut_answer():
    assert code('{"text": "x', "repetition") == "repetition"


@pytest.mark.parametrize(
    "text", ["." * 600, "|---|---|---" * 60, " ".join(map(str, range(300))), "ha" * 60, "0, " * 60]
)
def test_rows_of_dots_rules_of_tables_and_lists_are_no_loops(text):
    assert not runs_in_circles(text)


def test_sixteen_thousand_line_ends_are_degenerate_and_found_at_once():
    assert code('{"a":' + "\n" * 16000) == "degenerate_output"


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I\u2019m sorry, I can\u2019t identify people.",
        "Sorry, this is not possible.",
        "I cannot assist with this request.",
        "As an AI model I do not see.",
        "I am unable to view pictures.",
    ],
)
def test_a_refusal_is_called_one(text):
    assert refuses(text)
    assert code(text) == "refusal"


@pytest.mark.parametrize("text", ["The sign says: I'm sorry", "a sorry sight", "I can see a part"])
def test_what_only_sounds_like_one_is_none(text):
    assert not refuses(text)
    assert code(text) == "invalid_json"


def test_a_refusal_inside_an_answer_that_the_grammar_forced_is_found():
    with pytest.raises(CheckError) as caught:
        filled({"caption": "I'm sorry, I can't help with that."})
    assert caught.value.code == "refusal"


def test_an_answer_of_empty_texts_is_an_empty_answer():
    with pytest.raises(CheckError) as caught:
        filled({"caption": "  "})
    assert caught.value.code == "empty_answer"
    filled({"caption": "a cat", "answerable": False})


@pytest.mark.parametrize("reason", ["abort", "error"])
def test_an_answer_that_the_engine_gave_up_is_none(reason):
    assert code('{"text": "a"}', reason) == "answer_aborted"


@pytest.mark.parametrize(("verdict", "defects"), [("ok", [{"kind": "dent"}]), ("defective", [])])
def test_a_verdict_that_contradicts_its_defects_is_no_answer(verdict, defects):
    with pytest.raises(CheckError) as caught:
        verdict_matches_defects({"verdict": verdict, "defects": defects})
    assert caught.value.code == "contradiction"


def test_an_answer_in_fences_is_read_when_fences_are_the_format():
    fenced = '```json\n{"text": "a"}\n```'
    assert check_answer(fenced, "stop", TEXT, fenced=True) == {"text": "a"}
    assert code(fenced) == "invalid_json"
