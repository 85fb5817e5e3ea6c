"""What a newer version has written is left as it is, told of once, and holds nobody up."""

import json
import logging

import pytest
from typer.testing import CliRunner

from jobs.addresses import JobPaths, schedules_root
from jobs.cli.commands import app
from jobs.errors import Unreadable
from jobs.record import RecordFile
from jobs.schedules.files import ScheduleFile
from jobs.states import State


@pytest.fixture
def newer(store):
    """Changes a record of ours into one of a later version; answers its bytes."""

    def change(address, **fields):
        body = json.dumps({**json.loads(store.read(address)), **fields}).encode()
        store.write(address, body)
        return body

    return change


CHANGES = [{"moons": 3}, {"state": "waiting_for_rain"}, {"version": 2}]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_job_of_a_newer_version_is_left_alone_and_holds_up_no_other(
    store, bucket, submitted, put_pictures, controller, load, newer, caplog, change
):
    put_pictures(1)
    theirs, ours = submitted(name="theirs"), submitted(name="ours")
    record = JobPaths.of(bucket, theirs.job_id).record
    body = newer(record, **change)
    ours_too = controller()
    with caplog.at_level(logging.WARNING, "zeroshift"):
        ours_too.once()
        ours_too.look()
    assert load(ours).state is State.COMPLETED
    assert store.read(record) == body
    told = [each for each in caplog.messages if theirs.job_id in each]
    assert len(told) == 1
    assert "written by a newer version" in told[0]


def test_a_controller_whose_job_a_newer_one_takes_over_lets_go_of_it(
    store, bucket, submitted, put_pictures, controller, workshop, newer
):
    put_pictures(1)
    job = submitted()
    record = JobPaths.of(bucket, job.job_id).record

    def take_over(paths, epoch):
        newer(record, moons=3)

    workshop.before = take_over
    assert controller().run(job.job_id) is None
    assert json.loads(store.read(record))["moons"] == 3


def test_a_job_of_a_newer_version_can_not_be_cancelled(
    store, bucket, submitted, put_pictures, here, newer
):
    put_pictures(1)
    job = submitted()
    record = JobPaths.of(bucket, job.job_id).record
    body = newer(record, moons=3)
    ended = CliRunner().invoke(app, ["cancel", job.job_id])
    assert ended.exit_code == 1
    assert ended.stderr.splitlines() == [
        f"error: job {job.job_id}: written by a newer version, left alone: moons: unknown key; "
        + ended.stderr.partition("unknown key; ")[2].strip()
    ]
    assert store.read(record) == body


def test_status_lists_it_as_such(store, bucket, submitted, put_pictures, here, newer):
    put_pictures(1)
    theirs, ours = submitted(name="theirs"), submitted(name="ours")
    newer(JobPaths.of(bucket, theirs.job_id).record, moons=3)
    shown = " ".join(CliRunner().invoke(app, ["status"], env={"COLUMNS": "200"}).stdout.split())
    assert "ours-" in shown
    assert "written by a newer version" in shown.partition("theirs-")[2]
    in_json = CliRunner().invoke(app, ["status", "--json"])
    assert [each["job_id"] for each in json.loads(in_json.stdout)] == [ours.job_id]
    assert theirs.job_id in in_json.stderr


def test_what_is_damaged_is_not_called_newer(store, bucket, submitted, put_pictures):
    put_pictures(1)
    paths = JobPaths.of(bucket, submitted().job_id)
    store.write(paths.record, b"{")
    with pytest.raises(Unreadable, match="no record of ours"):
        RecordFile(store, paths).load()


def test_a_schedule_of_a_newer_version_is_left_alone_and_listed(
    store, bucket, here, newer, put_pictures
):
    put_pictures(1)
    add = ["--cron", "0 6 * * *", "--prefix", "in/", "--model", "zeroshift/parts-inspector"]
    for name in ("ours", "theirs"):
        assert CliRunner().invoke(app, ["schedule", "add", name, *add]).exit_code == 0
    address = schedules_root(bucket) / "theirs.json"
    body = newer(address, moons=3)
    listed = CliRunner().invoke(app, ["schedule", "list"])
    assert listed.exit_code == 0
    assert "ours" in listed.stdout
    assert listed.stderr == "schedule theirs: written by a newer version or damaged, left alone\n"
    with pytest.raises(Unreadable, match=r"theirs\.json: written by a newer version"):
        ScheduleFile(store, bucket, "theirs").pause()
    assert store.read(address) == body
