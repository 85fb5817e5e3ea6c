"""`zeroshift`: one line for every mistake, JSON alone on stdout, and nothing that needs a guess."""

import json
import signal

import pytest
from typer.testing import CliRunner

from jobs.addresses import JobPaths
from jobs.cli.commands import app
from jobs.control import presence
from jobs.errors import StoreUnavailable
from jobs.manifest.manifest import manifest_schema
from jobs.queue import queued
from jobs.record import RecordFile
from jobs.settings.settings import load_settings
from jobs.states import State
from jobs.submit.submission import submit


@pytest.fixture
def run(here):
    def invoke(*arguments, status=0):
        found = CliRunner().invoke(app, arguments)
        assert found.exit_code == status, found.output
        assert "Traceback" not in found.output
        return found

    return invoke


@pytest.fixture
def queued_job(store, settings, make_manifest, put_pictures):
    put_pictures(2, broken=1)
    return submit(store, settings, make_manifest()).record


@pytest.fixture
def done_job(queued_job, controller):
    controller().once()
    return queued_job


def one_error(found) -> str:
    assert found.stdout == ""
    [line] = found.stderr.splitlines()
    assert line.startswith("error: ")
    return line


def test_without_arguments_it_says_what_it_can_do(run):
    found = CliRunner().invoke(app, [])
    assert found.exit_code == 2
    for command in ("watch", "status", "results", "cost", "clusters", "cancel", "init", "schema"):
        assert command in found.output


def test_a_mistyped_command_is_one_error_with_a_suggestion(run):
    found = run("staus", status=2)
    assert found.stdout == ""
    assert "'staus'" in found.stderr
    assert "status" in found.stderr


@pytest.mark.parametrize(
    "command", [("status",), ("status", "--json"), ("results",), ("cost",), ("cancel",)]
)
def test_an_unknown_job_is_named_in_one_line(run, command):
    assert "no job 'nope-1'" in one_error(run(*command, "nope-1", status=2))


def test_a_bucket_that_is_not_there_is_named_in_one_line(run, monkeypatch):
    monkeypatch.setenv("ZEROSHIFT_BUCKET", "no-such-bucket")
    assert "bucket 'no-such-bucket'" in one_error(run("status", status=2))


def test_a_missing_setting_is_named_in_one_line(run, monkeypatch):
    monkeypatch.delenv("ZEROSHIFT_BUCKET")
    assert "ZEROSHIFT_BUCKET" in one_error(run("status", status=2))


def test_a_store_that_does_not_answer_is_one_line(run, monkeypatch):
    monkeypatch.setattr("jobs.store.bucket.Store.check", _no_answer)
    assert "does not answer" in one_error(run("status", status=1))


def _no_answer(store, bucket):
    raise StoreUnavailable("the store\ndoes not answer [yet]")


def test_status_of_nothing_says_so(run):
    assert run("status").stdout == "no jobs\n"
    assert json.loads(run("status", "--json").stdout) == []
    assert run("clusters").stdout == "no clusters\n"


def test_status_lists_jobs_and_shows_one(run, done_job):
    assert done_job.job_id in run("status").stdout
    shown = run("status", done_job.job_id).stdout
    assert "completed_with_errors, 1 of 3 pictures failed" in shown
    assert "results: s3://" in shown
    assert "total" in shown


def test_the_list_of_jobs_has_their_ids_whole_where_it_is_no_terminal(
    run, queued_job, store, bucket
):
    long = queued_job.model_copy(update={"job_id": f"{'long-' * 20}0123456789ab"})
    RecordFile(store, JobPaths.of(bucket, long.job_id)).create(long)
    names, *lines = run("status").stdout.splitlines()
    assert {line.split()[0] for line in lines} == {queued_job.job_id, long.job_id}
    assert names.split() == ["job", "state", "images", "errors", "cost", "submitted"]


def test_json_is_all_that_stands_on_stdout(run, done_job):
    [listed] = json.loads(run("status", "--json").stdout)
    shown = json.loads(run("status", done_job.job_id, "--json").stdout)
    bill = json.loads(run("cost", done_job.job_id, "--json").stdout)
    [cluster] = json.loads(run("clusters", "--json").stdout)
    assert listed == shown
    assert shown["cost_usd"] == bill["total_usd"]
    assert cluster["state"] == "down"


def test_results_are_the_rows_on_stdout_or_in_a_file(run, done_job, here):
    lines = run("results", done_job.job_id).stdout.splitlines()
    assert [json.loads(line)["status"] for line in lines] == ["ok", "ok", "error"]
    run("results", done_job.job_id, "-o", "rows.jsonl")
    assert (here / "rows.jsonl").read_text().splitlines() == lines


def test_a_file_that_can_not_be_written_is_one_line(run, done_job):
    line = one_error(run("results", done_job.job_id, "-o", "none/rows", status=2))
    assert "none/rows: No such file" in line


def test_a_job_that_has_not_ended_has_no_results_and_no_bill(run, queued_job):
    assert "queued: there are no results yet" in one_error(
        run("results", queued_job.job_id, status=2)
    )
    assert "queued: there is no bill yet" in one_error(run("cost", queued_job.job_id, status=2))


def test_the_bill_is_shown_by_phase_with_its_offer(run, done_job):
    shown = run("cost", done_job.job_id).stdout
    for word in (
        "idle",
        "total",
        "not priced: ",
        "offer local at 3.60 USD/h",
        "gone at",
    ):
        assert word in shown


def test_clusters_are_shown_with_their_state(run, done_job):
    assert "down" in run("clusters").stdout


def test_a_queued_job_is_cancelled_at_once(run, queued_job, store, bucket):
    assert "is cancelled" in run("cancel", queued_job.job_id).stdout
    assert queued(store, bucket) == []
    assert "is cancelled" in run("cancel", queued_job.job_id).stdout


def test_a_running_job_is_cancelled_by_its_controller(run, queued_job, store, bucket):
    file = RecordFile(store, JobPaths.of(bucket, queued_job.job_id))
    taken = {"owner": "other", "state": State.RUNNING}
    file.change(lambda old: old.model_copy(update=taken))
    assert "its controller will cancel it" in run("cancel", queued_job.job_id).stdout
    assert file.load().cancel_requested


def test_the_schema_is_that_of_a_manifest(run):
    assert json.loads(run("schema", "manifest").stdout) == manifest_schema()
    assert "allowed: manifest" in one_error(run("schema", "rows", status=2))


def test_init_writes_settings_that_load_and_leaves_a_file_that_is_there(run, here, bucket):
    run("init", "--bucket", bucket)
    text = (here / "zeroshift.toml").read_text()
    assert load_settings({}, here).bucket == bucket
    refused = run("init", "--bucket", "other", status=2)
    assert "left as it is" in refused.stdout
    assert f"found 'other', and the settings in force have {bucket!r}" in refused.stderr
    assert (here / "zeroshift.toml").read_text() == text


def test_init_puts_the_bucket_into_a_file_that_nobody_has_changed(run, here, bucket, monkeypatch):
    monkeypatch.delenv("ZEROSHIFT_BUCKET", raising=False)
    assert "bucket: missing" in run("init", status=2).stderr
    run("init", "--bucket", bucket)
    assert load_settings({}, here).bucket == bucket


def test_init_where_nothing_can_be_written_is_one_line(run, here, bucket):
    (here / "zeroshift.toml").symlink_to(here / "nowhere" / "zeroshift.toml")
    assert "No such file or directory" in one_error(run("init", "--bucket", bucket, status=2))


def test_watch_once_with_nothing_to_do_ends(run, bucket):
    assert f"watches bucket {bucket}" in run("watch", "--once").stderr


def test_a_watch_that_is_terminated_takes_its_leave(run, store, bucket, monkeypatch):
    def terminated(controller):
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("jobs.control.controller.Controller._work", terminated)
    assert "error: interrupted" in run("watch", status=130).stderr
    assert presence.present(store, bucket) == []


def test_init_with_a_bucket_that_can_not_be_writes_nothing(run, here):
    assert "allowed: a bucket's name alone" in one_error(run("init", "--bucket", "a b", status=2))
    assert not (here / "zeroshift.toml").exists()
