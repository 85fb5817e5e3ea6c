"""The pages of jobs: where they stand, what may be done with them, and nothing of a user's runs."""

import re

import pytest

from jobs.addresses import Address, JobPaths
from jobs.console.standing import Standing
from jobs.manifest.manifest import Manifest
from jobs.order import Attempt
from jobs.queue import all_jobs
from jobs.record import Counts, Record, RecordFile
from jobs.states import State
from jobs.submit.submission import load_manifest


@pytest.fixture
def job(submitted, put_pictures) -> Record:
    put_pictures(4, broken=1)
    return submitted(labels={"line": "<b>4</b>"})


@pytest.fixture
def ended(job, controller, load) -> Record:
    controller().once()
    return load(job)


def test_without_jobs_the_page_says_how_one_is_made(local):
    assert "submit-job manifest.json" in local.get("/").text


def test_jobs_are_listed_with_where_they_stand(local, job):
    text = local.get("/").text
    assert f'href="/jobs/{job.job_id}"' in text
    assert "Queued" in text
    assert job.job_id not in local.get("/?show=ended").text
    assert job.job_id in local.get("/live/jobs?show=active").text


def test_a_list_of_many_jobs_comes_in_pages(local, store, bucket):
    for number in range(101):
        made = Record(
            job_id=f"j-{number:012x}", created_at=float(number), output="s3://b/o/", model="m"
        )
        RecordFile(store, JobPaths.of(bucket, made.job_id)).create(made)
    first = local.get("/").text
    assert first.count('<a id="job-') == 100
    assert "start=100" in first
    last = local.get("/?start=100").text
    assert re.findall(r'id="job-([^"]+)"', last) == ["j-000000000000"]


def test_a_job_that_has_ended_shows_its_bill_rows_and_report(local, ended):
    text = local.get(f"/jobs/{ended.job_id}").text
    assert "1 of 5 pictures failed" in text
    assert f'href="/jobs/{ended.job_id}/report/"' in text
    assert "<tfoot>" in text
    rows = local.get(f"/live/jobs/{ended.job_id}/rows").text
    assert "not_an_image" in rows
    assert rows.count('<th scope="row"') == 5


def test_labels_and_names_are_text(local, job):
    text = local.get(f"/jobs/{job.job_id}").text
    assert "&lt;b&gt;4&lt;/b&gt;" in text
    assert "<b>4</b>" not in text


@pytest.mark.parametrize("name", ["nobody-0123456789ab", "..%2f..", "x", "%00"])
@pytest.mark.parametrize(
    "path", ["/jobs/{}", "/live/jobs/{}", "/live/jobs/{}/rows", "/jobs/{}/report/"]
)
def test_a_job_that_there_is_not_is_a_page_that_says_so(local, name, path):
    answer = local.get(path.format(name))
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html") or "{}" not in name


@pytest.mark.parametrize("path", ["/jobs", "/nonsense", "/jobs/j-0123456789ab/cancel", "/v2"])
def test_an_address_that_there_is_not_is_a_page_that_leads_on(local, path):
    answer = local.get(path)
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert f"There is no page {path}" in answer.text
    assert 'href="/"' in answer.text


@pytest.mark.parametrize(("path", "status"), [("/v1/nonsense", 404), ("/v1/jobs/x/cancel", 405)])
def test_addresses_of_the_api_keep_its_answers(local, path, status):
    answer = local.get(path)
    assert (answer.status_code, "error" in answer.json()) == (status, True)


def test_a_queued_job_is_cancelled_at_once(local, send, job, load):
    page = f"/jobs/{job.job_id}"
    answer = send(local, f"{page}/cancel", page)
    assert (answer.status_code, answer.headers["location"]) == (303, page)
    assert load(job).state is State.CANCELLED


def test_a_job_that_runs_is_asked_to_stop_and_says_so(local, send, job, store, bucket, load):
    file = RecordFile(store, JobPaths.of(bucket, job.job_id))
    file.change(lambda old: old.model_copy(update={"state": State.RUNNING, "owner": "other"}))
    page = f"/jobs/{job.job_id}"
    send(local, f"{page}/cancel", page)
    assert load(job).cancel_requested
    text = local.get(page).text
    assert "Cancelling" in text
    assert 'data-open="cancel"' not in text


def test_the_same_again_is_a_job_of_its_own_with_results_beside_the_old(
    local, send, ended, store, bucket
):
    page = f"/jobs/{ended.job_id}"
    first = send(local, f"{page}/again", page, stamp="abcdef0123")
    twice = send(local, f"{page}/again", page, stamp="abcdef0123")
    assert first.headers["location"] == twice.headers["location"] != page
    new = first.headers["location"].removeprefix("/jobs/")
    assert sorted(all_jobs(store, bucket)) == sorted([ended.job_id, new])
    made = load_manifest(store, JobPaths.of(bucket, new))
    assert made.output == ended.output.rstrip("/") + "-abcdef0123/"
    assert made.labels == {"line": "<b>4</b>"}


def test_a_job_that_failed_runs_again_into_the_same_place(make_manifest):
    from jobs.console.acting import same_again

    record = Record(job_id="j", created_at=1.0, output="s3://b/o/", model="m", state=State.FAILED)
    manifest: Manifest = make_manifest(output="s3://b/o/")
    assert same_again(manifest, record, "abc123").output == "s3://b/o/"


def test_a_job_that_has_not_ended_does_not_run_twice(local, send, job, store, bucket):
    page = f"/jobs/{job.job_id}"
    assert send(local, f"{page}/again", page, stamp="abcdef0123").status_code == 409
    assert list(all_jobs(store, bucket)) == [job.job_id]


@pytest.mark.parametrize("stamp", ["", "../x", "G" * 8, "a" * 40])
def test_a_stamp_that_is_none_makes_no_job(local, send, ended, store, bucket, stamp):
    page = f"/jobs/{ended.job_id}"
    assert send(local, f"{page}/again", page, stamp=stamp).status_code == 400
    assert list(all_jobs(store, bucket)) == [ended.job_id]


def test_a_report_is_served_with_the_bill_as_it_is_now(local, ended):
    text = local.get(f"/jobs/{ended.job_id}/report/").text
    assert "so far" not in text
    assert "no process is left" in text


@pytest.mark.parametrize(
    "stored", [b"<script>alert(1)</script>", b"", b"\xff\xfe", b"<!--rows--><b><!--end of rows-->"]
)
def test_a_page_of_somebody_else_is_not_served_as_the_report(local, ended, store, stored):
    store.write(Address.parse(ended.output) / "report.html", stored)
    answer = local.get(f"/jobs/{ended.job_id}/report/")
    assert answer.status_code == 404
    assert "alert" not in answer.text


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'zeroshiftThumbs(0,["aGk=","aGk="])\n', 200),
        (b'zeroshiftThumbs(0,["aGk="]);alert(1)\n', 404),
        (b"alert(1)", 404),
    ],
)
def test_small_pictures_are_served_when_they_are_nothing_else(local, ended, store, body, status):
    store.write(Address.parse(ended.output) / "report-thumbs-00000.js", body)
    address = f"/jobs/{ended.job_id}/report/"
    assert local.get(f"{address}report-thumbs-00000.js").status_code == status
    assert local.get(f"{address}receipt.json").status_code == 404


def test_a_standing_tells_rate_rest_and_time_by_state():
    record = Record(
        job_id="j",
        created_at=100.0,
        output="s3://b/o/",
        model="m",
        state=State.RUNNING,
        entered={"planning": 101.0, "running": 110.0},
        counts=Counts(total=100, done=40),
    )
    standing = Standing(record, 130.0)
    assert (standing.percent, standing.rate, standing.left_s) == (40, 2.0, 30.0)
    assert [(line.name, line.seconds) for line in standing.phases()[1]] == [
        ("queued", "1.0 s"),
        ("planning", "9.0 s"),
        ("running", "20 s"),
    ]


def test_a_job_that_waits_for_its_engine_says_so(local, job, store, bucket):
    paths = JobPaths.of(bucket, job.job_id)
    running = {"state": State.RUNNING, "owner": "other", "epoch": 1}
    RecordFile(store, paths).change(lambda old: old.model_copy(update=running))
    assert "the engine is being started" in local.get(f"/jobs/{job.job_id}").text
    ready = Attempt(epoch=1, ready_at=2.0)
    store.write(paths.attempt(1), ready.model_dump_json().encode())
    assert "the engine is being started" not in local.get(f"/jobs/{job.job_id}").text


def test_a_job_that_was_handed_on_shows_all_its_time_and_the_rate_of_its_present_claim():
    record = Record(
        job_id="j",
        created_at=100.0,
        output="s3://b/o/",
        model="m",
        state=State.RUNNING,
        entered={"planning": 101.0, "finalizing": 150.0, "queued": 200.0, "running": 210.0},
        counts=Counts(total=100, done=60),
        done_before=40,
    )
    standing = Standing(record, 220.0)
    assert (standing.rate, standing.left_s) == (2.0, 20.0)
    assert [(line.name, line.seconds) for line in standing.phases()[1]] == [
        ("earlier_claims", "1 min 40 s"),
        ("queued", "10 s"),
        ("running", "10 s"),
    ]


def test_a_job_that_has_ended_stands_still():
    record = Record(
        job_id="j",
        created_at=100.0,
        output="s3://b/o/",
        model="m",
        state=State.COMPLETED,
        entered={"running": 110.0, "finalizing": 120.0, "completed": 125.0},
        counts=Counts(total=20, done=20),
    )
    early, late = Standing(record, 200.0), Standing(record, 900.0)
    assert early.elapsed_s == late.elapsed_s == 25.0
    assert early.rate == late.rate == 2.0
    assert early.left_s is None
