"""`submit-job`: a bad manifest costs one line, a good one a job, and --wait sees it through."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from jobs.addresses import Address
from jobs.cli import submit as command
from jobs.control import presence
from jobs.control.controller import Controller
from jobs.queue import queued


@pytest.fixture
def manifest(bucket, model, tmp_path, put_pictures):
    """Writes a manifest file; the pictures are there."""
    put_pictures(2)

    def write(**changes):
        path = tmp_path / "m.json"
        content = {"inputs": {"prefix": f"s3://{bucket}/in/"}, "model": model, **changes}
        path.write_text(json.dumps(content))
        return str(path)

    return write


@pytest.fixture
def run(here):
    def invoke(*arguments, status=0, stdin=None):
        found = CliRunner().invoke(command.app, arguments, input=stdin)
        assert found.exit_code == status, found.output
        assert "Traceback" not in found.output
        return found

    return invoke


@pytest.fixture
def own_controller(monkeypatch, workshop):
    """--wait works with a controller whose clusters are fake."""

    def make(store, settings):
        return Controller(store, settings, engine="fake", make=workshop.make)

    monkeypatch.setattr(command, "Controller", make)
    return workshop


def one_error(found) -> str:
    assert found.stdout == ""
    [line] = found.stderr.splitlines()
    assert line.startswith("error: ")
    return line


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{", "not JSON"),
        ("[]", "m.json"),
        ('{"model": "m"}', "inputs"),
        ('{"inputs": {"prefx": "s3://b/in/"}, "model": "m"}', "did you mean 'prefix'"),
        ('{"inputs": {"prefix": "s3://b/in/"}, "model": "m", "labels": 3}', "labels"),
    ],
)
def test_a_bad_manifest_is_one_line_and_exit_2(run, store, bucket, tmp_path, text, named):
    (tmp_path / "m.json").write_text(text)
    assert named in one_error(run("m.json", status=2))
    assert list(store.list(Address(bucket, ""))) == []


def test_a_manifest_file_that_is_not_there_is_one_line(run):
    assert "none.json: No such file" in one_error(run("none.json", status=2))


def test_a_folder_is_no_manifest(run):
    assert "directory" in one_error(run(".", status=2))


def test_without_arguments_it_says_what_is_missing(run):
    assert "Missing argument 'manifest'" in run(status=2).stderr


def test_a_refusal_is_one_line_and_creates_nothing(run, store, bucket, manifest):
    line = one_error(run(manifest(model="no/such"), status=2))
    assert "model: 'no/such'" in line
    assert list(store.list(Address(bucket, "zeroshift/"))) == []


def test_a_job_is_submitted_and_told_that_a_controller_is_needed(run, store, bucket, manifest):
    found = run(manifest())
    assert found.stdout.split() == queued(store, bucket)
    assert "no controller is running: start one with `zeroshift watch`" in found.stderr


def test_with_a_controller_there_is_nothing_to_say(run, store, bucket, manifest):
    presence.announce(store, bucket, "c")
    assert run(manifest()).stderr == ""


def test_a_request_made_before_is_the_same_job_and_says_so(run, manifest):
    first, second = run(manifest()), run(manifest())
    assert first.stdout == second.stdout
    assert "was made before" in second.stderr


def test_json_is_all_that_stands_on_stdout(run, store, bucket, manifest):
    shown = json.loads(run(manifest(), "--json").stdout)
    assert shown == {
        "job_id": queued(store, bucket)[0],
        "state": "queued",
        "created": True,
        "controllers": [],
    }


def test_a_manifest_is_read_from_standard_input(run, store, bucket, manifest):
    run("-", stdin=Path(manifest()).read_text())
    assert len(queued(store, bucket)) == 1
    assert "standard input" in one_error(run("-", stdin="{", status=2))


def test_a_dry_run_shows_the_plan_and_creates_nothing(run, store, bucket, manifest):
    shown = json.loads(run(manifest(), "--dry-run", "--json").stdout)
    choice = shown["choice"]
    assert (shown["images"], choice["offer"], choice["nodes"]) == (2, "local", 1)
    assert shown["output"] == f"s3://{bucket}/results/job/"
    assert shown["headers"] == {"read": 2, "asked": 2}
    assert [each["gate"] for each in shown["checked"]] == ["licence", "remote code"]
    lines = run(manifest(), "--dry-run").stdout
    assert f"results         s3://{bucket}/results/job/" in lines
    assert "sizes           of 2 pictures; 2 asked for theirs" in lines
    assert list(store.list(Address(bucket, "zeroshift/"))) == []


@pytest.mark.parametrize("kind", ["keys", "index"])
def test_a_dry_run_counts_keys_and_the_lines_of_an_index(run, store, bucket, manifest, kind):
    keys = [f"s3://{bucket}/in/{number:03d}.png" for number in range(2)]
    index = "\n".join(json.dumps({"key": key}) for key in keys)
    store.write(Address(bucket, "list.jsonl"), index.encode())
    inputs = {"keys": keys} if kind == "keys" else {"index": f"s3://{bucket}/list.jsonl"}
    assert json.loads(run(manifest(inputs=inputs), "--dry-run", "--json").stdout)["images"] == 2


def test_a_dry_run_after_a_finished_job_tells_seconds_and_usd(run, manifest, own_controller):
    first = run(manifest(), "--dry-run")
    assert "time            unknown" in first.stdout
    assert "no job of this model has run" in first.stderr
    run(manifest(), "--wait")
    shown = json.loads(run(manifest(name="next"), "--dry-run", "--json").stdout)
    assert shown["time_s"]["basis"].startswith("measured by 1 ")
    assert shown["time_s"]["low"] <= shown["time_s"]["expected"] <= shown["time_s"]["high"]
    assert float(shown["cost"]["usd"]) > 0


def test_a_dry_run_for_which_no_offer_will_do_says_why_and_exits_with_1(run, manifest):
    hardware = {"offer": "auto", "deadline_s": 1}
    asked = manifest(model="Qwen/Qwen2.5-VL-7B-Instruct", hardware=hardware)
    found = run(asked, "--dry-run", status=1)
    assert "misses the deadline" in found.stdout
    assert "error: no offer can do this job" in found.stderr


def test_a_dry_run_refuses_what_a_submission_would(run, manifest):
    assert "offer 'moon'" in one_error(
        run(manifest(hardware={"offer": "moon"}), "--dry-run", status=2)
    )


def test_wait_does_the_controllers_work_and_ends_with_the_summary(run, manifest, own_controller):
    found = run(manifest(), "--wait")
    assert "this command does its work" in found.stderr
    assert "completed" in found.stdout
    assert "2 of 2 images, 0 with errors" in found.stdout
    assert not own_controller.made[0].alive()


def test_wait_exits_with_3_when_pictures_failed(run, manifest, own_controller, put_pictures):
    put_pictures(0, broken=2)
    shown = json.loads(run(manifest(), "--wait", "--json", status=3).stdout)
    assert (shown["state"], shown["receipt"]["errors"]) == ("completed_with_errors", 2)
    assert shown["receipt"]["bill"]["final"]


def test_wait_exits_with_1_when_the_job_failed(run, manifest, own_controller):
    own_controller.starts = False
    assert "the head did not answer" in run(manifest(), "--wait", status=1).stdout


def test_waiting_for_a_job_that_has_ended_shows_its_end_again(run, manifest, own_controller):
    first, second = run(manifest(), "--wait"), run(manifest(), "--wait")
    assert first.stdout == second.stdout
    assert len(own_controller.made) == 1
