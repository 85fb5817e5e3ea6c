"""The pages of schedules: when they fire, what their runs became, and who may change them."""

import time

import pytest

from jobs.addresses import Address, JobPaths, schedule_runs_root, schedules_root
from jobs.queue import all_jobs
from jobs.schedules.files import ScheduleFile, runs
from jobs.schedules.schedule import Plan, Run, Schedule
from jobs.submit.submission import load_manifest
from tests.unit.jobs.console.conftest import HOST

NAME = "night"
PAGE = f"/schedules/{NAME}"


@pytest.fixture
def add(store, bucket, model):
    """A schedule that fires every day at half past one."""

    def make(name: str = NAME, cron: str = "30 1 * * *", **changes) -> ScheduleFile:
        places = {"prefix": f"s3://{bucket}/in/", "output": f"s3://{bucket}/out/{name}/"}
        plan = Plan(name=name, cron=cron, zone="America/New_York", model=model, **places)
        now = time.time()
        file = ScheduleFile(store, bucket, name)
        file.create(Schedule(plan=plan, created_at=now, cursor=now, **changes))
        return file

    return make


@pytest.fixture
def ran(store, bucket):
    def write(number: int, **changes) -> None:
        nominal = 1_796_000_000.0 + number
        run = Run(id=f"r{number:03d}", schedule=NAME, nominal=nominal, owner="o", claimed_until=0.0)
        run = run.model_copy(update=changes)
        address = schedule_runs_root(bucket) / f"{NAME}/{run.id}.json"
        store.write(address, run.model_dump_json().encode())

    return write


def test_without_schedules_the_page_says_how_one_is_made(local):
    assert "zeroshift schedule add" in local.get("/schedules").text


def test_the_list_shows_when_each_fires_next_in_its_zone_and_in_utc(local, add):
    add()
    add("resting", paused=True, missed=3)
    text = local.get("/schedules").text
    assert 'href="/schedules/night"' in text
    assert "30 1 * * *" in text
    assert "01:30 E" in text  # EST or EDT
    assert "Z</span>" in text
    assert "when resumed" in text
    assert "2 in all, 1 paused" in text
    assert 'href="/schedules"' in local.get("/").text


def test_a_schedule_shows_its_next_times(local, add):
    add()
    text = local.get(f"/live{PAGE}").text
    assert text.count("01:30 E") == 5
    assert "It has not run yet" in text


def test_a_paused_schedule_has_no_next_time(local, add):
    add(paused=True)
    text = local.get(PAGE).text
    assert "no next time until it is resumed" in text
    assert 'data-open="resume"' in text
    assert 'data-open="pause"' not in text


def test_the_last_runs_are_shown_the_newest_first_with_what_became_of_them(local, add, ran):
    add()
    for number in range(12):
        ran(number, outcome="nothing_new", keys=())
    ran(12, outcome="refused", reason="<i>no</i>", keys=("s3://b/x",))
    text = local.get(PAGE).text
    assert text.count("Nothing new") == 9
    assert text.index("Refused") < text.index("Nothing new")
    assert "&lt;i&gt;no&lt;/i&gt;" in text


def test_a_run_by_hand_makes_a_job_of_what_is_new_and_shows_it(
    local, send, add, put_pictures, store, bucket
):
    add()
    put_pictures(2)
    answer = send(local, f"{PAGE}/run", PAGE)
    assert (answer.status_code, answer.headers["location"]) == (303, PAGE)
    [job] = all_jobs(store, bucket)
    assert len(load_manifest(store, JobPaths.of(bucket, job)).inputs.keys) == 2
    text = local.get(PAGE).text
    assert f'href="/jobs/{job}"' in text
    assert "by hand" in text
    assert "Queued" in text


def test_a_job_that_is_gone_is_said_to_be(local, add, ran):
    add()
    ran(1, outcome="submitted", keys=("s3://b/x",), job_id="night-0123456789ab")
    assert "gone</span>" in local.get(PAGE).text


def test_a_run_while_another_is_made_is_refused(local, send, add, store, bucket):
    add(current="r001")
    answer = send(local, f"{PAGE}/run", PAGE)
    assert answer.status_code == 409
    assert "another run is being made" in answer.text
    assert runs(store, bucket, NAME) == []


def test_a_schedule_is_paused_and_goes_on_from_when_it_is_resumed(local, send, add):
    file = add()
    before = file.load().cursor
    assert send(local, f"{PAGE}/pause", PAGE).headers["location"] == PAGE
    assert file.load().paused
    send(local, f"{PAGE}/resume", PAGE)
    found = file.load()
    assert (found.paused, found.cursor > before) == (False, True)


def test_resuming_what_is_not_paused_skips_no_time(local, send, add):
    file = add()
    before = file.load()
    send(local, f"{PAGE}/resume", PAGE)
    assert file.load() == before


@pytest.mark.parametrize("what", ["pause", "resume", "run"])
def test_who_may_only_read_sees_no_button_and_can_not_do_without(
    signed_in, send, add, store, bucket, what
):
    file = add()
    before, browser = file.load(), signed_in("read")
    assert "data-open" not in browser.get(PAGE).text
    assert send(browser, f"{PAGE}/{what}", "/").status_code == 403
    assert (file.load(), runs(store, bucket, NAME)) == (before, [])


@pytest.mark.parametrize("what", ["pause", "resume", "run"])
@pytest.mark.parametrize("origin", [HOST, "http://evil.example"])
def test_without_token_or_from_elsewhere_nothing_changes(
    signed_in, add, store, bucket, what, origin
):
    file = add()
    before, browser = file.load(), signed_in("read", "submit")
    token = browser.get(PAGE).text.partition('name="token" value="')[2].partition('"')[0]
    data = {"token": token if origin != HOST else "wrong"}
    answer = browser.post(f"{PAGE}/{what}", data=data, headers={"Origin": origin})
    assert answer.status_code == 403
    assert (file.load(), runs(store, bucket, NAME)) == (before, [])


@pytest.mark.parametrize("name", ["nobody", "..%2f..", "%00", "A", "x.json"])
@pytest.mark.parametrize("path", ["/schedules/{}", "/live/schedules/{}"])
def test_a_schedule_that_there_is_not_is_a_page_that_says_so(local, name, path):
    assert local.get(path.format(name)).status_code == 404


def test_an_object_that_is_no_schedule_is_named(local, add, store, bucket):
    add()
    store.write(schedules_root(bucket) / "broken.json", b"{}")
    answer = local.get("/schedules")
    assert answer.status_code == 502
    assert "broken.json" in answer.text


def test_only_the_last_runs_are_read(store, bucket, ran, monkeypatch):
    for number in range(20):
        ran(number, outcome="nothing_new")
    read: list[Address] = []
    known = store.read
    monkeypatch.setattr(store, "read", lambda address: (read.append(address), known(address))[1])
    assert [run.id for run in runs(store, bucket, NAME, last=2)] == ["r018", "r019"]
    assert len(read) == 2
