"""Clusters with their leases, and months from the ledger."""

import json
import time
from decimal import Decimal

import pytest

from infra.clusters.base import NodeInterval
from jobs.addresses import ledger_root
from jobs.cluster_record import ClusterFile, ClusterRecord
from jobs.console.costs import Month, month_of
from jobs.console.places import Place
from tests.finished_jobs import OFFER


def cluster(**changes) -> ClusterRecord:
    common = {"provider": "local", "state": "up", "owner": "o", "created_at": 100.0, "offer": OFFER}
    common |= {"cluster_id": "zs-1", "lease_until": 160.0}
    return ClusterRecord(**{**common, **changes})


def test_a_cluster_that_is_up_shows_lease_nodes_and_cost(local, store, bucket):
    now = time.time()
    nodes = (NodeInterval("n1", now - 30, None), NodeInterval("n2", now - 30, now - 10))
    ClusterFile.create(store, bucket, cluster(created_at=now, lease_until=now + 500, nodes=nodes))
    text = local.get("/clusters").text
    assert "1 up, 1 nodes" in text
    assert "1 of 2" in text
    assert "8 min" in text


def test_without_clusters_nothing_costs_anything(local):
    assert "nothing costs anything" in local.get("/live/clusters").text


def test_a_clusters_cost_is_its_nodes_time():
    nodes = (NodeInterval("n1", 100.0, None), NodeInterval("n2", 100.0, 130.0))
    place = Place(cluster(nodes=nodes), 160.0)
    assert place.usd == Decimal(90) * OFFER.usd_per_hour / 3600
    gone = Place(cluster(nodes=nodes, gone_at=140.0, state="down"), 99999.0)
    assert gone.usd == Decimal(70) * OFFER.usd_per_hour / 3600
    assert (gone.is_up, gone.living) == (False, 0)


@pytest.fixture
def enter(store, bucket):
    def write(day: str, job: str | None, usd: str | None) -> None:
        entry = {"job_id": job, "usd": usd}
        name = f"{day}/{job}-n.json"
        store.write(ledger_root(bucket) / name, json.dumps(entry).encode())

    return write


def test_a_month_is_the_sum_of_its_entries(store, bucket, enter):
    enter("2026/11/03", "a-0123456789ab", "1.25")
    enter("2026/11/03", "b-0123456789ab", "0.5")
    enter("2026/11/30", "a-0123456789ab", "2")
    enter("2026/11/30", None, "0.125")
    enter("2026/11/30", "c-0123456789ab", None)
    enter("2026/12/01", "a-0123456789ab", "100")
    month = month_of(store, bucket, 2026, 11)
    assert (month.total, month.unknown) == (Decimal("3.875"), 1)
    assert dict(month.days) == {3: Decimal("1.75"), 30: Decimal("2.125")}
    assert month.dearest[0] == ("a-0123456789ab", Decimal("3.25"), True)
    assert month.dearest[-1] == ("no job's", Decimal("0.125"), False)


def test_months_follow_each_other_over_the_year(local):
    assert Month(2026, 12).beside(1) == "2027-01"
    assert Month(2026, 1).beside(-1) == "2025-12"
    text = local.get("/costs?month=2026-12").text
    assert "December 2026" in text
    assert "/costs?month=2027-01" in text


@pytest.mark.parametrize("month", ["2026-13", "x", "2026-1", "../"])
def test_a_month_that_is_none_is_refused(local, month):
    assert local.get("/costs", params={"month": month}).status_code == 400


def test_a_name_in_the_ledger_is_text(local, enter):
    enter("2026/11/03", "<img src=x>", "1")
    text = local.get("/costs?month=2026-11").text
    assert "<img" not in text
    assert "&lt;img src=x&gt;" in text
