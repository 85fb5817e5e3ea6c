"""`zeroshift evaluate`: a job's answers against labels, as JSON and as tables."""

import io
import json

import pytest
from rich.console import Console
from typer.testing import CliRunner

from jobs.addresses import Address, JobPaths
from jobs.cli.commands import app
from jobs.cli.evaluate import print_comparison, print_report, read_labels
from jobs.closing.evaluate import evaluate
from jobs.errors import UserError
from jobs.manifest.manifest import Manifest
from jobs.record import Record, RecordFile
from jobs.rows import Row
from jobs.states import State
from jobs.tasks import PRESETS

DENT = {"kind": "dent", "bbox": [0, 0, 10, 10]}
LABEL = {"verdict": "defective", "defects": [DENT]}


def answered(key: str, **more: object) -> Row:
    return Row(key=key, version="e", status="ok", output=LABEL, confidence={"verdict": 0.9}, **more)


@pytest.fixture
def done(store, bucket, monkeypatch):
    """A job that has ended, with two answers."""
    paths = JobPaths.of(bucket, "job-1")
    asked = Manifest.model_validate({"inputs": {"prefix": f"s3://{bucket}/in/"}, "model": "m"})
    store.write(paths.manifest, asked.model_dump_json().encode())
    record = Record.model_validate(
        {
            **{"job_id": "job-1", "created_at": 0, "output": f"s3://{bucket}/o/", "model": "m"},
            **{"labels": {}, "state": State.COMPLETED},
        }
    )
    RecordFile(store, paths).create(record)
    lines = [answered("s3://b/a").to_line(), answered("s3://b/b").to_line()]
    store.write(Address(bucket, "o/part-00000.jsonl"), "\n".join(lines).encode())
    monkeypatch.setenv("ZEROSHIFT_BUCKET", bucket)
    monkeypatch.setenv("ZEROSHIFT_ENDPOINT_URL", str(store.options.endpoint_url))


def run(*arguments: str, status: int = 0) -> str:
    found = CliRunner().invoke(app, ["evaluate", *arguments])
    assert found.exit_code == status, found.output
    assert "Traceback" not in found.output
    return found.output


def test_a_job_is_judged_by_a_file_of_labels(done, tmp_path):
    file = tmp_path / "labels.jsonl"
    labels = [{"key": "s3://b/a", "label": LABEL}, {"key": "s3://b/b", "label": {"verdict": "ok"}}]
    file.write_text("\n".join(map(json.dumps, labels)))
    found = json.loads(run("job-1", "--labels", str(file), "--json"))
    assert found["fields"]["verdict"]["accuracy"] == 0.5
    assert found["kinds"]["dent"]["precision"] == 1
    assert found["reliability"][0]["count"] == 2
    table = run("job-1", "--labels", str(file))
    assert "verdict: 50.0 % right" in table
    assert "calibration error 40.0 %" in table


def test_a_job_without_labels_says_what_to_give(done):
    assert "give --labels FILE" in run("job-1", status=2)


def test_a_job_that_there_is_not_is_one_line(done):
    assert "no job 'job-2'" in run("job-2", status=2)


@pytest.mark.parametrize(
    "line", ["x", "[]", '{"key": "a"}', '{"label": 1}', '{"key": 1, "label": 2}']
)
def test_a_line_that_is_no_label_is_named(tmp_path, line):
    file = tmp_path / "labels.jsonl"
    file.write_text('{"key": "a", "label": 1}\n' + line)
    with pytest.raises(UserError, match="line 2"):
        read_labels(file)


def test_two_labels_for_one_picture_are_refused(tmp_path):
    file = tmp_path / "labels.jsonl"
    file.write_text('{"key": "a", "label": 1}\n{"key": "a", "label": 2}')
    with pytest.raises(UserError, match="another label for a"):
        read_labels(file)


@pytest.fixture
def console() -> Console:
    return Console(record=True, width=200, file=io.StringIO())


def test_a_label_that_tells_nothing_is_no_trouble(console):
    print_report(console, evaluate([answered("a")], {"a": {}}, PRESETS["inspection"].schema))
    assert "1 with a label: 1 answered" in console.export_text()


def test_a_comparison_that_differs_says_what_to_look_at(console):
    found = {"asked": 2, "agreed": 1, "same": 0, "examples": ["with: [x]"], "failed": ["refusal"]}
    print_comparison(console, found)
    said = console.export_text()
    assert "2 asked with the grammar and without: 1 made the same choices" in said
    assert "not compared: refusal" in said
    assert "output.format" in said
