"""`zeroshift reap` and `zeroshift clusters`: what runs, under which lease, and what is ended."""

import io
import json

import pytest
from rich.console import Console
from typer.testing import CliRunner

from infra.clusters.base import NodeInterval
from infra.clusters.fake import FakeSweeper
from jobs.cli.reap import app
from jobs.cli.summary import print_clusters
from jobs.cluster_record import cluster_records
from jobs.clusters.fleet import Fleet
from jobs.submit.planning import plan_for


@pytest.fixture
def sweep(workshop, monkeypatch):
    found = FakeSweeper(workshop.made)
    monkeypatch.setattr("jobs.cli.reap.make_sweeper", lambda provider: found)
    return found


@pytest.fixture
def left_behind(store, settings, workshop, make_manifest):
    """A cluster that was raised long ago and whose controller is gone."""
    fleet = Fleet(store, settings, "controller-1", workshop.make)
    return fleet.acquire(plan_for(make_manifest(), settings), 1000.0).record


def run(*arguments):
    return CliRunner().invoke(app, arguments)


def test_with_nothing_to_reap_it_says_so(here, sweep):
    done = run()
    assert (done.exit_code, done.stdout) == (
        0,
        "nothing to reap: whatever runs holds a live lease\n",
    )


def test_a_dry_run_shows_what_would_end_and_ends_nothing(here, sweep, left_behind, workshop):
    done = run("--dry-run")
    assert done.exit_code == 0
    assert "would end" in done.stdout
    assert left_behind.cluster_id in done.stdout
    assert workshop.made[0].alive()


def test_it_ends_what_it_finds_and_says_so_in_json(here, sweep, left_behind, workshop):
    done = run("--json")
    [reaped] = json.loads(done.stdout)
    assert (reaped["cluster_id"], reaped["outcome"]) == (left_behind.cluster_id, "ended")
    assert (reaped["alarm"], done.exit_code) == (False, 0)
    assert not workshop.made[0].alive()
    assert json.loads(run("--json").stdout) == []


def test_what_does_not_end_is_one_line_and_status_1(here, sweep, left_behind):
    sweep.stuck = True
    done = run()
    assert done.exit_code == 1
    [line] = done.stderr.splitlines()
    assert line.startswith(f"alarm: cluster {left_behind.cluster_id}: its lease ran out")
    assert line.endswith("left: still runs: head")


def test_the_table_of_clusters_shows_every_node_with_lease_age_and_cost(
    store, bucket, settings, left_behind
):
    nodes = (NodeInterval("n1", 1000.0, 1360.0), NodeInterval("n2", 1360.0, None))
    [record] = cluster_records(store, bucket)
    record = record.model_copy(update={"nodes": nodes, "lease_until": 1750.0})
    console = Console(file=io.StringIO(), width=120)
    print_clusters(console, [record], 1720.0)
    _, cluster, first, second = (line.split() for line in console.file.getvalue().splitlines())
    assert cluster[1:] == ["up", "30", "s", "1", "of", "2", "720", "s", "$0.7200"]
    assert first == ["n1", "gone", "-", "360", "s", "$0.3600"]
    assert second == ["n2", "up", "30", "s", "360", "s", "$0.3600"]
    console = Console(file=io.StringIO(), width=120)
    print_clusters(console, [record], 1760.0)
    assert "dead for 10 s" in console.file.getvalue()
