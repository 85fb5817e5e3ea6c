"""A manifest is checked in one line before anything is created."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.errors import PlanRefused
from infra.models.folder import find_model
from jobs.errors import ManifestError
from jobs.manifest.manifest import (
    CustomTask,
    Manifest,
    default_output,
    job_id,
    manifest_schema,
    parse_manifest,
)
from jobs.settings.settings import Settings
from jobs.submit.planning import on_hub, plans_for

EXAMPLES = sorted((Path(__file__).parents[3] / "docs" / "manifests").glob("*.json"))


def request(**changes: Any) -> dict[str, Any]:
    return {"inputs": {"prefix": "s3://b/inbox/"}, "model": "m", **changes}


def parsed(**changes: Any) -> Manifest:
    return parse_manifest(json.dumps(request(**changes)), "m.json")


def complaint(text: str | bytes | dict[str, Any]) -> str:
    body = json.dumps(text) if isinstance(text, dict) else text
    with pytest.raises(ManifestError) as caught:
        parse_manifest(body, "m.json")
    line = str(caught.value)
    assert line.startswith("m.json: ")
    assert len(line.splitlines()) == 1
    return line.removeprefix("m.json: ")


def test_there_is_an_example_of_each_kind():
    manifests = [parse_manifest(path.read_bytes(), path.name) for path in EXAMPLES]
    kinds = {name for m in manifests for name, value in m.inputs if value is not None}
    assert kinds == {"prefix", "keys", "index"}
    assert any(isinstance(m.task, CustomTask) and m.budget.max_usd and m.labels for m in manifests)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_parses_and_meets_the_published_schema(path):
    manifest = parse_manifest(path.read_bytes(), path.name)
    jsonschema.validate(json.loads(path.read_text()), manifest_schema())
    plans_for(manifest, Settings(bucket="b"))  # as it stands, with default settings


@pytest.mark.parametrize("model", ["m" * 5000, "a\0b", "x/" * 500, "\ud800"])
def test_a_model_that_can_not_be_a_path_is_one_line(model):
    with pytest.raises(ManifestError) as caught:
        plans_for(parsed(model=model), Settings(bucket="b"))
    assert len(str(caught.value).splitlines()) == 1
    assert on_hub(model)
    with pytest.raises(PlanRefused):
        find_model(model)


def test_a_number_with_too_many_digits_is_said_without_words_for_programmers():
    line = complaint('{"version": ' + "9" * 5000 + "}")
    assert line == f"found {'9' * 40}…; allowed: numbers of up to 4000 digits"


def test_inputs_and_model_are_enough():
    manifest = parsed()
    assert manifest.task == "inspection"
    assert manifest.sampling.temperature == 0
    assert manifest.hardware.offer == "local"
    assert default_output(manifest) == "s3://b/results/job/"


def test_a_manifest_survives_being_written_and_read():
    task = {"prompt": "p", "schema": {"type": "object"}}
    keys = {"keys": ["s3://b/1.png"]}
    manifest = parsed(inputs=keys, task=task, budget={"max_usd": 0.1}, labels={"a": "b"})
    assert parse_manifest(manifest.model_dump_json(), "again") == manifest
    assert json.loads(manifest.model_dump_json())["task"] == {**task, "box_field": None}


def test_a_misspelt_key_suggests_the_nearest_one():
    line = complaint(request(inputs={"prefx": "s3://b/inbox/"}))
    expected = "inputs.prefx: unknown key; did you mean 'prefix'? allowed: prefix, keys, index"
    assert line.startswith(expected)


def test_a_misspelt_required_key_is_one_problem():
    line = complaint({"inputs": {"prefix": "s3://b/inbox/"}, "modle": "m"})
    assert line.startswith("modle: unknown key; did you mean 'model'?")
    assert "missing" not in line


def test_a_missing_model_is_named_in_one_line():
    assert complaint({"inputs": {"prefix": "s3://b/in/"}}) == "model: missing; it is required"


def test_a_misspelt_key_of_a_task_is_found_through_the_union():
    line = complaint(request(task={"prompt": "p", "shema": {}}))
    assert line.startswith("task.shema: unknown key; did you mean 'schema'? allowed: ")


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"version": 2}, "version: found 2; allowed: 1"),
        (
            {"sampling": {"temperature": 3}},
            "sampling.temperature: found 3; allowed: less than or equal to 2",
        ),
        (
            {"sampling": {"max_tokens": "5"}},
            'sampling.max_tokens: found "5"; allowed: a whole number',
        ),
        (
            {"hardware": {"replicas": 65}},
            "hardware.replicas: found 65; allowed: less than or equal to 64",
        ),
        ({"budget": {"max_usd": 0}}, "budget.max_usd: found 0; allowed: greater than 0"),
        ({"budget": {"max_usd": "two"}}, 'budget.max_usd: found "two"; allowed: a number'),
        (
            {"name": "Line 4"},
            'name: found "Line 4"; allowed: lower-case letters, digits and inner hyphens, '
            "1 to 63 characters",
        ),
        (
            {"task": "inspect"},
            "task: found \"inspect\"; allowed: one of 'inspection', 'ocr', 'catalogue', 'caption', "
            "'vqa', or an object with prompt and schema",
        ),
        (
            {"inputs": {"prefix": "s3://b/inbox"}},
            'inputs.prefix: found "s3://b/inbox"; allowed: s3://BUCKET/PREFIX/ with the last slash',
        ),
        (
            {"inputs": {"keys": ["s3://b/k", "k"]}},
            'inputs.keys[1]: found "k"; allowed: s3://BUCKET/KEY',
        ),
        ({"inputs": {"keys": []}}, "inputs.keys: found []; allowed: at least 1 item"),
        (
            {"inputs": {"index": "s3://b/list.csv"}},
            'inputs.index: found "s3://b/list.csv"; allowed: s3://BUCKET/NAME.jsonl',
        ),
        ({"inputs": {}}, "inputs: found none; allowed: exactly one of prefix, keys, index"),
        (
            {"inputs": {"prefix": "s3://b/i/", "keys": ["s3://b/k"]}},
            "inputs: found prefix and keys; allowed: exactly one of prefix, keys, index",
        ),
        (
            {"image": {"tokens": 10**12}},
            "image.tokens: found 1000000000000; allowed: less than or equal to 1000000",
        ),
        (
            {"image": {"max_pixels": 10**30}},
            f"image.max_pixels: found {10**30}; allowed: less than or equal to 10000000000",
        ),
        (
            {"image": {"min_pixels": 9, "max_pixels": 4}},
            "image: found min_pixels 9, max_pixels 4; allowed: min <= max",
        ),
        ({"labels": {"a\nb": 3}}, 'labels."a\\nb": found 3; allowed: text'),
    ],
)
def test_a_wrong_value_is_named_with_what_was_found_and_what_is_allowed(changes, line):
    assert complaint(request(**changes)) == line


def test_three_problems_are_shown_and_the_others_counted():
    wrong = {"version": 2, "name": "A", "model": "", "hardware": {"replicas": 0}, "labels": 1}
    line = complaint(request(**wrong))
    assert line.count("; allowed: ") == 3
    assert line.endswith(" (and 2 more)")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "not JSON: Expecting value at line 1 column 1"),
        ('{"model":\n "m",}', "not JSON: Expecting property name enclosed in double quotes at"),
        ("[]", "found []; allowed: an object"),
        ('{"a": 1, "a": 2}', 'key "a" stands twice in one object; allowed: once'),
        ('{"a": NaN}', "found NaN; allowed: finite numbers"),
        ('{"a": 1e999}', "found 1e999; allowed: finite numbers"),
        ("[" * 100_000, "nested too deeply"),
        ('{"model": "\\ud800"}', "Invalid JSON: "),
        (b"\xff", "not UTF-8 text: invalid start byte at byte 0"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(text, line):
    assert complaint(text).startswith(line)


def test_a_byte_order_mark_does_no_harm():
    manifest = parse_manifest(b"\xef\xbb\xbf" + json.dumps(request()).encode(), "m.json")
    assert manifest == parsed()


@pytest.mark.parametrize("output", ["s3://b/inbox/results/", "s3://b/", "s3://b/inbox/"])
def test_an_output_that_overlaps_the_inputs_is_refused(output):
    assert complaint(request(output=output)).startswith(f'output: found "{output}", which overlaps')


def test_a_default_output_that_overlaps_the_inputs_is_refused():
    line = complaint(request(inputs={"prefix": "s3://b/"}))
    assert line.startswith('output: found "s3://b/results/job/"')


@pytest.mark.parametrize("output", ["s3://b/inbox-results/", "s3://other/inbox/"])
def test_an_output_beside_the_inputs_is_fine(output):
    assert parsed(output=output).output == output


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"type": "objekt"}, "schema.type: 'objekt'"),
        ({"properties": {"x": {"pattern": "["}}}, "schema.properties.x.pattern: '['"),
        ({"required": "x"}, "schema.required: 'x'"),
    ],
)
def test_a_schema_that_is_none_is_refused_with_its_path(schema, place):
    line = complaint(request(task={"prompt": "p", "schema": schema}))
    assert line.startswith(f"task: not a JSON Schema at {place}")


def test_the_same_request_is_the_same_job_however_it_is_written():
    plain = parsed(budget={"max_usd": 5})
    spelt = parsed(budget={"max_usd": "5.00"}, sampling={}, name="job", labels={})
    assert job_id(plain) == job_id(spelt)
    assert plain.budget.max_usd == Decimal(5)


def test_another_request_is_another_job():
    ids = {job_id(parsed()), job_id(parsed(model="n")), job_id(parsed(labels={"a": "b"}))}
    assert len(ids) == 3


def test_the_order_of_keys_matters_in_an_answer_and_nowhere_else():
    one = {"properties": {"a": {"type": "null"}, "b": {"type": "null"}}}
    other = {"properties": {"b": {"type": "null"}, "a": {"type": "null"}}}
    first, second = ({"prompt": "p", "schema": schema} for schema in (one, other))
    assert job_id(parsed(task=first)) != job_id(parsed(task=second))
    assert job_id(parsed(labels={"x": "1", "y": "2"})) == job_id(
        parsed(labels={"y": "2", "x": "1"})
    )


def test_a_job_keeps_its_id_from_one_release_to_the_next():
    assert job_id(parsed(name="line-4")) == "line-4-24df2eb3ba96"


def test_an_idempotency_key_stands_for_the_content():
    one, other = parsed(idempotency_key="k"), parsed(idempotency_key="k", model="n")
    assert job_id(one) == job_id(other)
    assert job_id(one) != job_id(parsed())


@settings(deadline=None)
@given(st.text() | st.binary() | st.builds(json.dumps, st.recursive(st.none(), st.lists)))
def test_no_text_gets_past_but_a_manifest_and_none_ends_in_a_traceback(text):
    assert complaint(text)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from([*Manifest.model_fields, "x"]), st.text(), max_size=4))
def test_wrong_values_of_any_text_stay_in_one_line(document):
    assert complaint(document)
