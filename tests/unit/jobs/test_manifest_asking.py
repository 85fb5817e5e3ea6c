"""What a manifest says about tasks, formats, groups and budgets, and what becomes of it."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest

from jobs.errors import ManifestError
from jobs.manifest.manifest import Manifest, job_id, manifest_schema, parse_manifest
from jobs.order import AnswerFormat
from jobs.record import Record
from jobs.submit.orders import make_order
from jobs.tasks import resolve_task


def request(**changes: Any) -> dict[str, Any]:
    return {"inputs": {"prefix": "s3://b/inbox/"}, "model": "m", **changes}


def parsed(**changes: Any) -> Manifest:
    return parse_manifest(json.dumps(request(**changes)), "m.json")


def complaint(**changes: Any) -> str:
    with pytest.raises(ManifestError) as caught:
        parsed(**changes)
    return str(caught.value).removeprefix("m.json: ")


def order(total: int = 10, **changes: Any) -> Any:
    model = SimpleNamespace(folder=Path("/m"))
    engine = {"limit_mm_per_prompt": {"image": 1, "video": 0}}
    plan = SimpleNamespace(model=model, engine=engine, nodes=1, cpus=2)
    record = Record.model_validate(
        {"job_id": "j", "created_at": 0, "output": "s3://b/o/", "model": "m", "labels": {}}
    )
    counts = record.counts.model_copy(update={"total": total})
    return make_order(record.model_copy(update={"counts": counts}), parsed(**changes), plan)


def test_output_is_a_prefix_or_an_object_that_has_one():
    plain = parsed(output="s3://b/out/")
    assert parsed(output={"prefix": "s3://b/out/"}) == plain
    assert job_id(parsed(output={"prefix": "s3://b/out/"})) == job_id(plain)
    whole = parsed(output={"prefix": "s3://b/out/", "confidence": True, "format": "compact"})
    assert (whole.output, whole.answer.confidence) == ("s3://b/out/", True)
    assert job_id(whole) != job_id(plain)
    assert parse_manifest(whole.model_dump_json(), "again") == whole
    assert json.loads(plain.model_dump_json())["output"] == "s3://b/out/"


def test_an_object_without_prefix_leaves_results_at_their_default():
    assert parsed(output={"confidence": True}).output is None


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ({"confidence": 1}, "output.confidence: found 1; allowed: true or false"),
        ({"confidense": True}, "output.confidense: unknown key; did you mean 'confidence'?"),
        ({"format": "tight"}, "output.format: found \"tight\"; allowed: one of 'auto', 'spaced'"),
        ({"format": {"item_separator": ";"}}, "output.format.item_separator: "),
        ({"format": {"indent": 2}}, "output.format: found indent and item_separator ', '"),
    ],
)
def test_what_is_wrong_under_output_is_named_there(output, line):
    assert complaint(output=output).startswith(line)


@pytest.mark.parametrize(
    "changes",
    [
        {"output": {"prefix": "s3://b/o/", "format": {"fenced": True}, "retry": False}},
        {"task": {"preset": "inspection", "severity": True, "kinds": ["rust"]}},
        {"task": {"preset": "ocr", "style": "markdown"}},
        {"task": {"prompt": "p", "schema": "module.of:Mine"}},
        {"image": {"tokens": 64, "frames": "every:3", "video": "seconds:2", "together": True}},
        {"inputs": {"prefix": "s3://b/inbox/", "group_by": "folder", "max_pictures": 2}},
        {"inputs": {"prefix": "s3://b/inbox/", "group_by": {"pattern": "(a)"}}},
    ],
)
def test_what_parses_meets_the_published_schema(changes):
    parsed(**changes)
    validator = jsonschema.Draft202012Validator(manifest_schema())
    assert list(validator.iter_errors(request(**changes))) == []


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"task": {"preset": "ocr", "severity": True}}, "task: severity is no option of 'ocr'"),
        ({"image": {"tokens": 5, "detail": "low"}}, "image: found tokens and detail"),
        ({"inputs": {"prefix": "s3://b/i/", "group_by": "key"}}, "inputs.group_by: found"),
        (
            {"inputs": {"prefix": "s3://b/i/", "group_by": {"pattern": "a"}}},
            "inputs.group_by: pattern 'a' has 0 groups; allowed: one in parentheses",
        ),
        (
            {"inputs": {"prefix": "s3://b/i/", "group_by": {"field": "part"}}},
            "inputs: group_by.field is a field of an index",
        ),
        ({"task": {"prompt": "p", "schema": "mine"}}, "task.schema: found"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(changes, line):
    assert complaint(**changes).startswith(line)


def test_severity_and_kinds_are_options_and_the_default_stays_what_was_trained():
    task = resolve_task(parsed(task={"preset": "inspection", "severity": True}).task)
    item = task.schema["properties"]["defects"]["items"]["properties"]
    assert list(item) == ["kind", "severity", "bbox"]
    assert "severity" in task.prompt
    kinds = resolve_task(parsed(task={"preset": "inspection", "kinds": ["rust", "chip"]}).task)
    assert "rust or chip" in kinds.prompt
    plain = resolve_task(parsed(task={"preset": "inspection"}).task)
    assert plain == resolve_task("inspection")


def test_a_preset_takes_a_prompt_and_a_schema_of_ones_own():
    schema = {"type": "object", "properties": {"text": {"type": "string", "maxLength": 9}}}
    task = resolve_task(parsed(task={"preset": "caption", "prompt": "p", "schema": schema}).task)
    assert (task.prompt, task.schema, task.checks) == ("p", schema, ())


def test_the_longest_answer_is_derived_unless_the_manifest_says_it():
    assert order(task="caption").sampling.max_tokens > 600
    assert order(sampling={"max_tokens": 7}).sampling.max_tokens == 7


def test_the_order_tells_the_worker_all_that_was_asked_for():
    made = order(
        output={"format": "compact", "confidence": True, "retry": False},
        image={"detail": "low", "frames": "all"},
        task="caption",
    )
    assert made.answer_format == AnswerFormat(item_separator=",", key_separator=":")
    assert (made.confidence, made.retry, made.image_tokens) == (True, False, 256)
    assert (made.frames, made.checks) == ("all", ("filled",))
    assert order().answer_format is None


@pytest.mark.parametrize(("detail", "tokens"), [("low", 256), ("auto", 1280), ("high", None)])
def test_detail_is_a_budget_of_tokens(detail, tokens):
    assert order(image={"detail": detail}).image_tokens == tokens


def test_the_engine_has_room_for_as_many_pictures_as_a_prompt_may_hold():
    inputs = {"prefix": "s3://b/inbox/", "group_by": "folder"}
    assert order().engine["limit_mm_per_prompt"] == {"image": 1, "video": 0}
    assert order(inputs=inputs).engine["limit_mm_per_prompt"] == {"image": 8, "video": 0}
    assert order(inputs={**inputs, "max_pictures": 3}).max_pictures == 3


@pytest.mark.parametrize(("total", "sampled"), [(10, 0), (399, 0), (400, 8), (100_000, 8)])
def test_a_large_job_samples_the_grammar_unasked(total, sampled):
    assert order(total).grammar_check == sampled
    assert order(total, output={"grammar_check": 3}).grammar_check == 3
    assert order(total, output={"grammar_check": 0}).grammar_check == 0
