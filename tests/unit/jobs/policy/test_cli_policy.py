"""`zeroshift cost policy`: a table, JSON alone on stdout, figures of one's own or said assumed."""

import json
from decimal import Decimal

import pytest
import typer
from typer.testing import CliRunner

from infra.clusters.base import NodeInterval
from jobs.addresses import JobPaths
from jobs.cli.policy import add_policy
from jobs.cost.bill import bill_of
from jobs.history import remember
from jobs.record import OfferSnapshot, Record, RecordFile
from jobs.states import State
from jobs.totals import Totals
from tests.made_entries import node_entry

TRACE = "# by hand\nat_s,work_s,images\n0,10,5\n5000,10,5\n"


@pytest.fixture
def run(here):
    (here / "mine.csv").write_text(TRACE)
    app = typer.Typer()
    add_policy(app)

    def invoke(*arguments, status=0):
        found = CliRunner().invoke(app, arguments)
        assert found.exit_code == status, found.output
        return found

    return invoke


@pytest.fixture
def measured(store, bucket):
    """A job that took 33 s to start, at 36 USD an hour."""
    offer = OfferSnapshot(
        name="local",
        usd_per_hour=Decimal(36),
        billing_granularity_s=1,
        minimum_s=0,
        catalogue_date="today",
    )
    record = Record(
        job_id="j",
        created_at=0.0,
        output="s3://b/o/",
        state=State.COMPLETED,
        model="a/m",
        offer=offer,
    )
    RecordFile(store, JobPaths.of(bucket, "j")).create(record)
    bill = bill_of([node_entry(record, NodeInterval("n", 0.0, 100.0), 33.0, 60.0, 100.0)])
    remember(store, bucket, record, Totals(10, 10, 0, {}, 900, 0, 100), bill, 100.0)


def test_the_table_has_every_policy_with_the_optimum_first(run):
    lines = run("--trace", "mine.csv").stdout.splitlines()
    assert lines[0].split()[:3] == ["trace", "policy", "USD"]
    policies = [line.split("  ")[1].strip() for line in lines[1:8]]
    assert policies[:3] == ["clairvoyant", "learned", "break-even"]
    assert "always on" in policies[-1]


def test_without_a_measurement_the_figures_are_said_to_be_assumed(run):
    found = run("--trace", "mine.csv").stdout
    assert "260 s of a node at 3.6 USD/h are 0.2600 USD (assumed: nothing was measured" in found


def test_ones_own_cold_start_is_used_where_there_is_one(run, measured):
    found = json.loads(run("--trace", "mine.csv", "--json").stdout)
    assert (found["costs"]["start_s"], found["costs"]["usd_per_hour"]) == (33.0, "36")
    assert found["costs"]["basis"] == "measured by 1 job of a/m on local"
    first = found["rows"][0]
    assert (first["policy"], first["of_optimum"], first["starts"]) == ("clairvoyant", 1.0, 2)
    assert Decimal(first["usd"]) == Decimal(2 * (33 + 10 + 20)) * 36 / 3600
    assert sum(map(Decimal, first["usd_by_class"].values())) == Decimal(first["usd"])


def test_no_settings_are_needed(run, monkeypatch):
    monkeypatch.delenv("ZEROSHIFT_BUCKET")
    assert "assumed" in run("--trace", "mine.csv").stdout


def test_a_bucket_that_is_not_there_is_told_and_assumptions_are_used(run, monkeypatch):
    monkeypatch.setenv("ZEROSHIFT_BUCKET", "nobody-has-this-one")
    found = run("--trace", "mine.csv", "--json")
    assert "assumptions are used: " in found.stderr
    assert not json.loads(found.stdout)["costs"]["measured"]


def test_a_trace_that_is_not_there_is_one_line(run):
    found = run("--trace", "weekly", status=2)
    [line] = found.stderr.splitlines()
    assert line.startswith("error: --trace: 'weekly': No such file")
