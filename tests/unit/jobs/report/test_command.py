"""`zeroshift report`: a folder to open, or one line that says why there is none."""

import pytest
from typer.testing import CliRunner

from jobs.cli.commands import app
from tests.finished_jobs import finished_job


@pytest.fixture
def server(moto):
    return moto


@pytest.fixture
def run(here):
    def invoke(*arguments, status=0):
        found = CliRunner().invoke(app, ["report", *arguments])
        assert found.exit_code == status, found.output
        return found

    return invoke


def test_a_report_is_made_into_a_folder_of_the_jobs_name(store, bucket, run, here):
    paths, _, _ = finished_job(store, bucket, 1500, shard_rows=500)
    found = run(paths.job_id)
    folder = here / f"{paths.job_id}-report"
    assert found.stdout == f"wrote {folder.name}/report.html\n"
    assert (folder / "report.html").stat().st_size > 10_000
    assert (folder / "report-thumbs-00000.js").exists()


def test_a_folder_may_be_named(store, bucket, run, here):
    paths, _, _ = finished_job(store, bucket, 3)
    run(paths.job_id, "-o", "a/b")
    assert [each.name for each in (here / "a/b").iterdir()] == ["report.html"]


@pytest.mark.parametrize("what", ["unknown", "unfinished", "another's results", "a file"])
def test_what_can_not_be_made_is_said_in_one_line(store, bucket, run, here, what):
    paths, output, _ = finished_job(store, bucket, 3)
    job = paths.job_id
    if what == "unknown":
        job, said = "nobody", "no job 'nobody'"
    elif what == "unfinished":
        store.delete(output / "receipt.json")
        said = f"{job} is queued: there is no report yet"
    elif what == "another's results":
        finished_job(store, bucket, 3, job_id="other")
        said = "holds the results of other"
    else:
        (here / "file").write_text("")
        said = "file: File exists"
    found = run(job, "-o", "file", status=2)
    [line] = found.stderr.splitlines()
    assert said in line
    assert found.stdout == ""
