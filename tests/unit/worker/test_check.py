"""An answer is taken as it is or refused with what is wrong with it; nothing is mended."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.tasks import PRESETS
from worker.check import check_answer
from worker.errors import RAW_LIMIT, CheckError

SCHEMA = PRESETS["inspection"].schema
GOOD = '{"verdict": "defective", "defects": [{"kind": "dent", "bbox": [1, 2, 3, 4]}]}'


def refused(text: str, finish_reason: str = "stop", schema: dict = SCHEMA) -> CheckError:
    with pytest.raises(CheckError) as caught:
        check_answer(text, finish_reason, schema)
    assert caught.value.stage == "check"
    return caught.value


def test_a_good_answer_is_parsed_and_nothing_else():
    assert check_answer(GOOD, "stop", SCHEMA) == json.loads(GOOD)


@pytest.mark.parametrize("text", ['{"verdict": "de', GOOD[:-1], GOOD])
def test_an_answer_cut_at_max_tokens_is_truncated_even_when_it_looks_whole(text):
    error = refused(text, "length")
    assert error.code == "truncated_output"
    assert error.raw == text


@pytest.mark.parametrize("text", ['{"verdict": "ok"', '{"verdict": "ok", "defects": []}}', "yes"])
def test_what_is_no_json_is_refused_and_kept(text):
    error = refused(text)
    assert error.code == "invalid_json"
    assert error.raw == text


@pytest.mark.parametrize(
    "text",
    [
        '{"verdict": "ok", "verdict": "defective", "defects": []}',
        '{"verdict": NaN, "defects": []}',
        '{"verdict": 1e999, "defects": []}',
        '```json\n{"verdict": "ok", "defects": []}\n```',
        "[" * 5000,
        "[" * 5000 + "]" * 5000,
        "1" * 5000,
    ],
)
def test_nearly_json_is_not_json(text):
    assert refused(text, schema={}).code == "invalid_json"


@pytest.mark.parametrize("white", ["\n", " ", "\t", " \n"])
def test_endless_white_space_is_degenerate_however_it_ended(white):
    for reason in ("length", "stop"):
        assert refused('{"verdict":' + white * 16000, reason).code == "degenerate_output"


def test_nothing_but_white_space_is_degenerate_and_nothing_at_all_is_empty():
    assert refused(" \n" * 500).code == "degenerate_output"
    assert refused("").code == "empty_answer"
    assert refused("\n").code == "empty_answer"


def test_null_is_no_answer_even_when_the_schema_lets_it_pass():
    assert refused("null", schema={"type": ["object", "null"]}).code == "empty_answer"


def test_ordinary_white_space_is_fine():
    pretty = json.dumps(json.loads(GOOD), indent=4)
    assert check_answer(f"\n{pretty}\n", "stop", SCHEMA)["verdict"] == "defective"


def test_only_so_much_of_a_wrong_answer_is_kept():
    assert len(refused("x" * 10 * RAW_LIMIT).raw) == RAW_LIMIT + 1


@pytest.mark.parametrize(
    ("answer", "where"),
    [
        ({"verdict": "maybe", "defects": []}, "$.verdict"),
        ({"verdict": "ok"}, "$"),
        ({"verdict": "ok", "defects": [], "more": 1}, "$"),
        ({"verdict": "ok", "defects": [{"kind": "dent", "bbox": [1, 2, 3]}]}, "$.defects[0].bbox"),
        ({"verdict": "ok", "defects": [{"kind": "dent", "bbox": [1, 2, 3, -4]}]}, "bbox[3]"),
        ({"verdict": "ok", "defects": [{"kind": "rust", "bbox": [1, 2, 3, 4]}]}, "kind"),
        ([], "$"),
    ],
)
def test_a_violation_of_the_schema_names_the_place(answer, where):
    error = refused(json.dumps(answer))
    assert error.code == "schema_violation"
    assert where in str(error)


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "array", "minItems": 1, "maxItems": 2}, [1], [1, 2, 3]),
        ({"type": "string", "pattern": "^a+$", "maxLength": 3}, "aa", "aaaa"),
        ({"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 5}]}, 3, 7),
        (
            {
                "$defs": {"n": {"type": "array", "items": {"$ref": "#/$defs/n"}}},
                "$ref": "#/$defs/n",
            },
            [[], [[]]],
            [[1]],
        ),
    ],
)
def test_keywords_that_an_engine_may_ignore_are_checked_all_the_same(schema, good, bad):
    assert check_answer(json.dumps(good), "stop", schema) == good
    assert refused(json.dumps(bad), schema=schema).code == "schema_violation"


@given(st.text(max_size=200), st.sampled_from(["stop", "length", "unknown"]))
def test_any_text_is_an_answer_or_a_check_error(text, reason):
    answer: object = {}
    with contextlib.suppress(CheckError):
        answer = check_answer(text, reason, {"type": "object"})
    assert isinstance(answer, dict)


def test_a_character_that_is_half_a_pair_is_no_crash():
    answer = check_answer('{"a": "\\ud800"}', "stop", {})
    assert list(answer) == ["a"]


NESTED = {"$defs": {"n": {"items": {"$ref": "#/$defs/n"}}}, "$ref": "#/$defs/n"}


@pytest.mark.parametrize("depth", [65, 250, 300, 500, 900])
@pytest.mark.parametrize("schema", [{}, NESTED])
def test_an_answer_nested_without_end_is_that_rows_error_and_no_crash(depth, schema):
    assert refused("[" * depth + "]" * depth, schema=schema).code == "invalid_json"
    assert refused('{"a":' * depth + "1" + "}" * depth, schema=schema).code == "invalid_json"


def test_an_answer_nested_as_deep_as_is_allowed_is_fine():
    assert check_answer("[" * 64 + "]" * 64, "stop", NESTED)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"multipleOf": 0.1}, "1" + "0" * 400),
        ({"pattern": "("}, '"x"'),
        ({"$ref": "#/nowhere"}, "1"),
    ],
)
def test_what_the_validator_itself_fails_on_is_that_rows_error(schema, text):
    error = refused(text, schema=schema)
    assert error.code == "schema_violation"
    assert "can't be checked" in str(error)


def test_a_complaint_about_a_huge_answer_is_short():
    text = json.dumps({"verdict": "x" * 100_000})
    schema = {"type": "object", "properties": {"verdict": {"enum": ["ok"]}}}
    with pytest.raises(CheckError) as caught:
        check_answer(text, "stop", schema)
    assert len(str(caught.value)) < 3000


def test_a_schema_that_points_elsewhere_fetches_nothing():
    with pytest.raises(CheckError, match="can't be checked"):
        check_answer("{}", "stop", {"$ref": "http://127.0.0.1:9/schema.json"})
