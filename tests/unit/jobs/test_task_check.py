"""The task is checked where the job is submitted, in the user's own environment."""

import sys

import pytest

from jobs.errors import ManifestError
from jobs.manifest.manifest import Manifest, job_id, parse_manifest
from jobs.submit.task_check import check_task, with_schema

MODEL = """
from typing import Literal
from pydantic import BaseModel, Field

class Label(BaseModel):
    serial: str = Field(max_length=20)
    grade: Literal["A", "B"]

other = 3
"""


def manifest(task: object, **more: object) -> Manifest:
    inputs = {"index": "s3://b/i.jsonl"}
    return Manifest.model_validate({"inputs": inputs, "model": "m", "task": task, **more})


@pytest.fixture(autouse=True)
def _no_compiler(monkeypatch):
    monkeypatch.setattr("jobs.schema.lint._by_compiler", lambda schema: ())


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "labels_of_mine.py").write_text(MODEL)
    (tmp_path / "broken_of_mine.py").write_text("raise RuntimeError('no')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    for name in ("labels_of_mine", "broken_of_mine"):
        sys.modules.pop(name, None)


def test_a_pydantic_model_becomes_plain_json_before_the_job_has_an_id(module):
    asked = manifest({"prompt": "Read it.", "schema": "labels_of_mine:Label"})
    found = with_schema(asked)
    assert list(found.task.json_schema["properties"]) == ["serial", "grade"]
    assert parse_manifest(found.model_dump_json(), "again") == found
    assert job_id(found) != job_id(asked)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("no_such_module:Label", "can't be imported: ModuleNotFoundError"),
        ("labels_of_mine:Lable", "can't be imported: AttributeError"),
        ("broken_of_mine:Label", "can't be imported: RuntimeError: no"),
        ("labels_of_mine:other", "is no pydantic model"),
    ],
)
def test_a_model_that_is_not_there_is_refused_in_one_line(module, path, says):
    with pytest.raises(ManifestError) as caught:
        with_schema(manifest({"prompt": "Read it.", "schema": path}))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_prompt_with_a_field_needs_an_index():
    with pytest.raises(ManifestError, match=r"task\.prompt: \{question\} is a field of an index"):
        check_task(manifest("vqa", inputs={"prefix": "s3://b/in/"}))
    assert check_task(manifest("vqa")) == ()


def test_braces_that_are_doubled_or_hold_no_name_need_none():
    task = {"prompt": 'As {{x}}: {"a": 1}', "schema": {"enum": ["a"]}}
    assert check_task(manifest(task, inputs={"prefix": "s3://b/in/"})) == ()


def test_warnings_name_the_place_and_the_tokens():
    schema = {"type": "object", "properties": {"note": {"type": "string"}}}
    said = check_task(manifest({"prompt": "p", "schema": schema}))
    assert any("$.properties.note: maxLength" in each for each in said)
    assert any(each.startswith("sampling.max_tokens: ") for each in said)


def test_a_budget_below_the_longest_answer_is_a_warning():
    schema = {"type": "string", "maxLength": 100}
    task = {"prompt": "p", "schema": schema}
    assert check_task(manifest(task)) == ()
    [said] = check_task(manifest(task, sampling={"max_tokens": 50}))
    assert "50 is less than the longest answer" in said


def test_a_schema_that_can_not_be_forced_is_refused_before_anything_is_paid_for(monkeypatch):
    schema = {"type": "object", "properties": {"x": {"$ref": "https://elsewhere/x.json"}}}
    with pytest.raises(ManifestError, match=r"task\.schema: \$\.properties\.x: \$ref"):
        check_task(manifest({"prompt": "p", "schema": schema}))
