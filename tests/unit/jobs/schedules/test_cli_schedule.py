"""Schedules by the command line: added, listed, paused, run; mistakes are one line."""

import json
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

from jobs.addresses import Address
from jobs.cli.commands import app
from jobs.queue import queued
from jobs.schedules.files import ScheduleFile


@pytest.fixture
def server(moto):
    return moto


@pytest.fixture
def cli(here, model):
    def run(*arguments):
        return CliRunner().invoke(app, ["schedule", *arguments])

    return run


@pytest.fixture
def add(cli, model):
    def run(*more, name="night", cron="30 1 * * *", zone="America/New_York"):
        common = ["--cron", cron, "--zone", zone, "--prefix", "cam/", "--model", model]
        return cli("add", name, *common, *more)

    return run


def test_a_schedule_is_added_listed_paused_resumed_and_removed(cli, add):
    added = add("--catch-up", "all:3", "--overlap", "queue", "--label", "line=4")
    assert added.exit_code == 0, added.output
    assert added.output.startswith("added night; next: ")
    [found] = json.loads(cli("list", "--json").stdout)
    assert found["plan"]["catch_up_limit"] == 3
    assert found["plan"]["labels"] == {"line": "4"}
    assert "night" in cli("list").output
    assert cli("pause", "night").output == "paused night\n"
    assert json.loads(cli("list", "--json").stdout)[0]["next"] is None
    assert cli("resume", "night").output.startswith("resumed night; next: ")
    assert cli("remove", "night").output == "removed night\n"
    assert "no schedules" in cli("list").output


def test_next_prints_local_time_and_utc(cli, add):
    add()
    lines = cli("next", "night", "-n", "3").output.splitlines()
    assert lines[0].split() == ["America/New_York", "UTC"]
    assert len(lines) == 4
    assert all("01:30 E" in line for line in lines[1:])
    assert [set(each) for each in json.loads(cli("next", "night", "--json").stdout)] == [
        {"local", "utc"}
    ] * 5


def test_run_makes_the_job_now(cli, add, store, bucket):
    add()
    store.write(Address(bucket, "cam/1.png"), b"x")
    done = cli("run", "night")
    [job] = queued(store, bucket)
    assert done.output == f"night: submitted {job}\n"
    assert job in cli("runs", "night").output
    assert json.loads(cli("runs", "night", "--json").stdout)[0]["by_hand"] is True


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({"zone": "Europe/Berln"}, "did you mean 'Europe/Berlin'?"),
        ({"cron": "61 * * * *"}, "bad minute; allowed: five fields"),
        ({"name": "Bad Name"}, "name: found"),
    ],
)
def test_a_mistake_is_one_line_and_adds_nothing(cli, add, more, line):
    found = add(**more)
    assert found.exit_code == 2
    assert line in found.stderr
    assert len(found.stderr.splitlines()) == 1
    assert json.loads(cli("list", "--json").stdout) == []


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--catch-up", "some"], "allowed: none, latest, all or all:N"),
        (["--catch-up", "latest:3"], "allowed: none, latest, all or all:N"),
        (["--overlap", "maybe"], "allowed: forbid, queue, allow"),
        (["--label", "x"], "allowed: key=value"),
        (["--task", "nonsense"], "task: found"),
    ],
)
def test_an_option_that_can_not_be_is_one_line(add, options, line):
    found = add(*options)
    assert found.exit_code == 2
    assert line in found.stderr


@pytest.mark.parametrize("command", ["next", "pause", "resume", "remove", "run", "runs"])
def test_an_unknown_name_is_one_line_with_the_nearest(cli, add, command):
    add()
    found = cli(command, "nigth")
    assert found.exit_code == 2
    assert "no schedule 'nigth'; did you mean 'night'? known: night" in found.stderr


def test_a_schedule_that_could_never_make_a_job_is_refused(cli, add, model):
    common = ["--cron", "0 6 * * *", "--model", model]
    for wrong, said in (
        (["--prefix", "cam/", "--model", "nonesuch"], "error: model: 'nonesuch'"),
        (["--prefix", "", *common[2:]], "overlaps prefix"),
        (["--prefix", "cam/", "--output", "cam/out/", *common[2:]], "overlaps prefix"),
    ):
        refused = cli("add", "night", *common[:2], *wrong)
        assert refused.exit_code == 2
        assert said in refused.output
        assert len(refused.output.splitlines()) == 1
    assert "no schedules" in cli("list").output


def test_a_schedule_that_has_not_run_says_so(cli, add):
    add()
    assert "has not run yet" in cli("runs", "night").output
    assert json.loads(cli("runs", "night", "--json").stdout) == []


@pytest.mark.parametrize("name", ["a/b", "../keys/x", "Nächte", "", "x" * 64, "a b", "a-"])
def test_a_name_that_can_not_be_is_one_line_wherever_it_is_given(add, cli, name):
    for done in (add(name=name), cli("next", "--", name), cli("remove", "--", name)):
        assert done.exit_code == 2
        assert len(done.stderr.splitlines()) == 1
    assert cli("list").output.startswith("no schedules")


@pytest.mark.parametrize("count", ["0", "10000", "-1", "x"])
def test_a_count_that_can_not_be_is_refused(add, cli, count):
    add()
    done = cli("next", "night", f"-n{count}")
    assert done.exit_code == 2
    assert "'-n'" in done.stderr


def test_next_goes_on_from_what_is_decided(add, cli, store, bucket):
    """After a clock that was wrong, too, it says what will happen and not what would have."""
    add(zone="UTC")
    ahead = datetime(2040, 1, 1, tzinfo=UTC)
    file = ScheduleFile(store, bucket, "night")
    file.change(lambda old: old.model_copy(update={"cursor": ahead.timestamp()}))
    [first] = json.loads(cli("next", "night", "-n", "1", "--json").stdout)
    assert first["utc"] == "2040-01-01T01:30:00+00:00"
    assert "2040-01-01 01:30" in cli("list").stdout


@pytest.mark.parametrize("which", ["--prefix", "--output"])
def test_a_schedule_over_what_is_our_own_is_refused(cli, model, which):
    given = {"--prefix": "cam/", "--output": "out/"} | {which: "zeroshift/jobs/"}
    options = [each for pair in given.items() for each in pair]
    refused = cli("add", "a", "--cron", "0 0 * * *", "--model", model, *options)
    assert refused.exit_code == 2
    assert "zeroshift/jobs/ is Zeroshift's own; allowed: outside of zeroshift/" in refused.stderr
