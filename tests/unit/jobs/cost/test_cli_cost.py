"""`zeroshift cost`: tables that fit, files that hold, and one line for every mistake."""

import csv
import io
import json
import time
from decimal import Decimal

import pytest
from rich.console import Console
from typer.testing import CliRunner

from jobs.addresses import JobPaths
from jobs.cli.commands import app
from jobs.cli.cost_table import print_otherwise, print_report
from jobs.cli.progress import line
from jobs.cost.ledger import day_of, day_root, entries, write
from jobs.cost.report import make_report
from jobs.errors import Unreadable
from jobs.queue import dequeue, queued
from jobs.record import Counts, RecordFile
from jobs.states import State
from jobs.submit.submission import submit


@pytest.fixture
def run(here):
    def invoke(*arguments, status=0):
        found = CliRunner().invoke(app, ["cost", *arguments])
        assert found.exit_code == status, found.output
        assert "Traceback" not in found.output
        return found

    return invoke


@pytest.fixture
def books(store, bucket, make_entry):
    """A ledger with two jobs, the second without a price; and one of long ago."""
    now = time.time()
    entries = [
        make_entry("line-4-aaaa", until=now - 3600),
        make_entry("line-5-bbbb", until=now - 7200, price=None, labels={}, node="c-n2"),
        make_entry("old-cccc", until=now - 60 * 86400),
    ]
    write(store, bucket, entries)
    return entries


def one_error(found) -> str:
    assert found.stdout == ""
    [line] = found.stderr.splitlines()
    assert line.startswith("error: ")
    return line


def test_without_entries_it_says_so(run):
    assert run().stdout == "no entries in the ledger for this time\n"
    assert json.loads(run("--json").stdout)["groups"] == []


def test_all_jobs_are_added_up_and_what_has_no_price_is_counted_apart(run, books):
    shown = run().stdout
    assert "line-4-aaaa" in shown
    assert "old-cccc" not in shown
    [line] = [each for each in shown.splitlines() if each.startswith("line-5-bbbb")]
    assert line.split()[1:3] == ["unknown", "unknown"]
    assert "+ 1 of 2 entries has no price" in shown
    assert "0.100000+" in shown
    assert "billed by the begun hour  3.600000 (without 1 entry of unknown price)" in shown
    assert "always on, 2 nodes for 720.0 h  unknown" in shown
    assert "by the token  unknown: no endpoint is known for m" in shown


def test_since_and_by_choose_what_is_added_up(run, books):
    assert "old-cccc" in run("--since", "90d").stdout
    shown = run("--by", "label:line").stdout.splitlines()
    assert shown[0].startswith("label:line")
    assert {line.split()[0] for line in shown[1:4]} == {"4", "-", "total"}


def test_json_and_csv_say_the_same(run, books):
    shown = json.loads(run("--json").stdout)
    rows = list(csv.DictReader(io.StringIO(run("--csv").stdout)))
    assert [each["key"] for each in shown["groups"]] == [row["job"] for row in rows[:-1]]
    assert shown["groups"][1]["usd"] is None
    assert rows[1]["usd"] == "unknown"
    assert shown["total"]["usd"] == rows[-1]["usd"] == "0.100000000"
    assert shown["otherwise"]["hourly_usd"] == "3.600000000"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--by", "labels"), "--by: found 'labels'; allowed: job, label, label:NAME, model"),
        (("--since", "7"), "--since: found '7'; allowed: a span"),
        (("--json", "--csv"), "found --json and --csv; allowed: one of them"),
        (("export", "--format", "xls"), "--format: found 'xls'; allowed: focus"),
        (("export", "--parquet"), "--parquet: found no file; allowed: -o FILE"),
        (("export", "--since", "x"), "--since: found 'x'"),
        (("export", "-o", "none/x"), "none/x: No such file"),
        (("reconcile", "--invoice", "none.csv"), "none.csv: No such file"),
        (("nope-1",), "no job 'nope-1'"),
    ],
)
def test_a_mistake_is_one_line_with_what_is_allowed(run, arguments, said):
    assert said in one_error(run(*arguments, status=2))


def test_a_finished_job_shows_its_bill_its_classes_and_other_tariffs(
    run, store, settings, make_manifest, put_pictures, controller
):
    put_pictures(2, broken=1)
    job = submit(store, settings, make_manifest()).record.job_id
    controller().once()
    shown = run(job).stdout
    for words in ("total", "offer local at 3.60 USD/h", "startup", "#", "always on, 1 node for 24"):
        assert words in shown
    told = json.loads(run(job, "--json").stdout)
    assert told["report"]["total"]["usd"] == told["total_usd"]
    assert run("show", job).stdout == shown
    assert run(job, "--by", "day").stdout.count("total") == 2


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_table_fits_its_terminal(make_entry, width):
    long = "a-job-with-a-very-long-name-of-its-own-0123456789ab"
    report = make_report([make_entry(long), make_entry("b", price=None)], "job")
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=True, color_system=None)
    print_report(console, report, "job")
    print_otherwise(console, report, 86400, [("m", None)])
    assert all(len(line) <= width for line in file.getvalue().splitlines())
    assert "unknown" in file.getvalue()


def test_a_pipe_gets_whole_names_and_no_colour(make_entry):
    long = "a-job-with-a-very-long-name-of-its-own-0123456789ab"
    file = io.StringIO()
    print_report(
        Console(file=file, width=60, soft_wrap=True), make_report([make_entry(long)], "job"), "job"
    )
    assert long in file.getvalue()
    assert "\x1b" not in file.getvalue()


@pytest.mark.parametrize("form", ["--csv", "--parquet"])
def test_an_export_is_checked_against_the_rules_of_focus(run, books, here, form):
    found = run("export", form, "--check", "-o", "focus")
    assert "1 entry has no price" in found.stderr
    assert "FOCUS 1.2: no rule that we check is broken" in found.stderr
    assert (here / "focus").stat().st_size > 0
    assert found.stdout == ""


def test_an_export_to_a_pipe_is_csv(run, books):
    [row] = csv.DictReader(io.StringIO(run("export", "--since", "7d").stdout))
    assert (row["BilledCost"], row["x_JobId"]) == ("0.100000000", "line-4-aaaa")


def test_a_broken_export_is_not_written(run, books, here, monkeypatch):
    monkeypatch.setattr("jobs.cost.focus.moment", lambda seconds: "yesterday")
    found = run("export", "--check", "-o", "focus.csv", status=1)
    assert "broken rule: row 1: BillingPeriodEnd: is 'yesterday'" in found.stderr
    assert not (here / "focus.csv").exists()


def test_an_invoice_that_matches_is_status_0_and_a_stranger_an_alarm(run, books, here):
    run("export", "-o", "invoice.csv")
    text = (here / "invoice.csv").read_text().splitlines()
    matched = run("reconcile", "--invoice", "invoice.csv", "--json", status=1)  # one has no price
    assert [each["outcome"] for each in json.loads(matched.stdout) if each["node_id"] == "c-n1"]
    (here / "strange.csv").write_text("\n".join(text).replace("c-n1", "stranger") + "\n")
    found = run("reconcile", "--invoice", "strange.csv", status=1)
    assert "alarm: stranger on " in found.stderr
    assert "missing in ledger" in found.stdout


@pytest.fixture
def over_budget(store, bucket, settings, make_manifest, put_pictures):
    put_pictures(1)
    record = submit(store, settings, make_manifest(budget={"max_usd": 1})).record
    file = RecordFile(store, JobPaths.of(bucket, record.job_id))
    dequeue(store, bucket, record.job_id)
    ended = {"state": State.OVER_BUDGET, "cost_usd": Decimal("0.9")}
    return file.change(lambda old: old.model_copy(update=ended))


def test_a_job_over_its_budget_is_resumed_with_more(here, store, bucket, over_budget):
    job = over_budget.job_id
    found = CliRunner().invoke(app, ["resume", job, "--max-usd", "2.50"])
    assert (found.exit_code, found.stdout) == (0, f"{job} is queued, up to 2.50 USD\n")
    assert "no controller is running" in found.stderr
    assert queued(store, bucket) == [job]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--max-usd", "1"), "max_usd: found 1; allowed: more than 1, which it has had"),
        (("--max-usd", "much"), "max_usd: found 'much'; allowed: an amount above 0"),
        (("--max-usd", "nan"), "max_usd: found 'nan'; allowed: an amount above 0"),
        (("--max-usd", "-3"), "max_usd: found '-3'; allowed: an amount above 0"),
    ],
)
def test_a_wrong_budget_is_refused_in_one_line(here, over_budget, arguments, said):
    found = CliRunner().invoke(app, ["resume", over_budget.job_id, *arguments])
    assert found.exit_code == 2
    assert said in one_error(found)


def test_a_running_job_tells_its_cost_so_far_and_at_the_end(
    here, store, bucket, over_budget, monkeypatch
):
    monkeypatch.setenv("ZEROSHIFT_IDLE_WINDOW_S", "0")  # else the rest after it is in the guess
    now = time.time()
    running = {
        "state": State.RUNNING,
        "counts": Counts(total=100, done=50),
        "entered": {"provisioning": now - 100, "running": now - 90},
    }
    file = RecordFile(store, JobPaths.of(bucket, over_budget.job_id))
    file.change(lambda old: old.model_copy(update=running))
    shown = CliRunner().invoke(app, ["status", over_budget.job_id]).stdout
    assert "cost so far: $0.9000, about $1." in shown
    assert "$0.9000, about $1." in line(file.load())


def test_a_watch_writes_metrics_for_a_node_exporter(here):
    found = CliRunner().invoke(app, ["watch", "--once", "--metrics-file", "z.prom"])
    assert found.exit_code == 0, found.output
    assert "zeroshift_jobs{" in (here / "z.prom").read_text()


def test_books_that_are_right_are_status_0_and_a_wrong_amount_is_named(
    run, store, bucket, settings, make_manifest, put_pictures, controller
):
    put_pictures(2)
    job = submit(store, settings, make_manifest()).record.job_id
    controller().once()
    assert run("verify").stdout == "the ledger and every bill agree\n"
    assert json.loads(run("verify", "--json").stdout) == {"ok": True, "differs": []}
    [entry] = [each for each in entries(store, bucket) if each.kind == "node"]
    address = day_root(bucket, day_of(entry.until)) / entry.name
    dearer = {name: usd + 1 for name, usd in entry.usd.items()}
    store.write(address, entry.model_copy(update={"usd": dearer}).model_dump_json().encode())
    told = run("verify", status=1).stdout
    assert f"{entry.name}: USD" in told
    assert f"{job}: its receipt has total_usd" in told
    assert told.splitlines()[-1].endswith("lines differ")


def test_entries_of_a_newer_version_are_in_no_sum_and_said_to_be_missing(run, books, store, bucket):
    """Dropped in silence they would make every bill too low."""
    day = day_root(bucket, day_of(books[0].until))
    whole = json.loads(books[0].model_dump_json())
    for name, change in {"a": {"version": 3}, "b": {"moons": 1}}.items():
        store.write(day / f"later-{name}.json", json.dumps({**whole, **change}).encode())
    found = run()
    assert "line-4-aaaa" in found.stdout
    [line] = [each for each in found.stderr.splitlines() if "could not be read" in each]
    assert line.startswith("warning: 2 entries of the ledger could not be read, and are in no sum")
    assert "later-a.json" in line
    with pytest.raises(Unreadable, match=r"later-a\.json is no entry of the ledger"):
        list(entries(store, bucket))
