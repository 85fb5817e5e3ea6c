"""Clusters with their leases, and months from the ledger."""

import re
import time
import uuid
from datetime import datetime
from decimal import Decimal

import pytest
from fastapi.testclient import TestClient

from infra.clusters.base import NodeInterval
from jobs.addresses import ledger_root
from jobs.api.app import add_routes, make_app
from jobs.cluster_record import ClusterFile, ClusterRecord
from jobs.console import CONSOLE
from jobs.console.month import Month, month_of
from jobs.console.places import Place
from jobs.cost.entry import CLASSES, Entry, NodeTimes
from jobs.cost.ledger import write
from jobs.settings.budgets import Budget
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
    assert "1 up, 1 node." in text
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
    """Writes an entry of a minute that ended on a day of 2026; `usd` by class."""

    def put(day: str, job: str | None, usd: dict[str, str] | None, **changes) -> Entry:
        until = datetime.fromisoformat(f"2026-{day}T12:00:00+00:00").timestamp()
        node = NodeTimes(node_id=f"n-{uuid.uuid4().hex}", launched_at=until - 60, gone_at=until)
        seconds = {"work": Decimal(60)}
        known = {"since": until - 60, "until": until, "offer": OFFER, "node": node, "model": "m"}
        known |= {"images": 10, "raw_s": seconds, "billed_s": seconds, **changes}
        entry = Entry(job_id=job, usd=usd, **known)
        write(store, bucket, [entry])
        return entry

    return put


def totals(month: Month, way: str) -> dict[str, Decimal | None]:
    return {name: sums.total_usd for name, sums in month.dearest(way)}


def test_a_month_is_the_sum_of_its_entries(store, bucket, enter):
    enter("11-03", "a-0123456789ab", {"work": "1.25"}, labels={"line": "4"})
    enter("11-03", "b-0123456789ab", {"startup": "0.25", "idle": "0.25"})
    enter("11-30", "a-0123456789ab", {"work": "2"}, labels={"line": "4"}, model="other")
    enter("11-30", None, {"idle": "0.125"}, images=0, model="")
    enter("12-01", "a-0123456789ab", {"work": "100"})
    month = month_of(store, bucket, 2026, 11)
    assert (month.total.total_usd, month.total.unpriced) == (Decimal("3.875"), 0)
    assert totals(month, "day") == {"2026-11-03": Decimal("1.75"), "2026-11-30": Decimal("2.125")}
    assert totals(month, "job") == {
        "a-0123456789ab": Decimal("3.25"),
        "b-0123456789ab": Decimal("0.5"),
        "-": Decimal("0.125"),
    }
    assert totals(month, "label") == {"line=4": Decimal("3.25"), "-": Decimal("0.625")}
    assert list(totals(month, "model")) == ["other", "m", "-"]
    assert (month.jobs, month.total.images) == (2, 30)


def test_a_month_has_all_classes_and_they_sum_to_it(store, bucket, enter):
    enter("11-03", "a-0123456789ab", {"work": "3", "wasted": "0.5"})
    enter("11-03", "a-0123456789ab", {"egress": "0.5"}, kind="egress", node=None, unit="GiB")
    _, lines = month_of(store, bucket, 2026, 11).classes()
    assert [line.name for line in lines] == [*CLASSES, "egress"]
    by_name = {line.name: line for line in lines}
    assert (by_name["work"].share, by_name["work"].usd) == ("75 %", "3.000000")
    assert by_name["idle"].usd == "0.000000"
    assert by_name["egress"].tone == "other"


def test_what_nobody_knows_is_called_unknown_and_is_in_no_sum(local, enter):
    enter("11-03", "a-0123456789ab", {"work": "1"})
    enter("11-03", "c-0123456789ab", None)
    text = local.get("/costs?month=2026-11").text
    assert "1 of 2 entries of the ledger has no price" in text
    assert re.search(r"c-0123456789ab</a></th><td>unknown<", text)
    assert "and 1 unknown" in text


def test_a_month_of_unknown_amounts_alone_costs_unknown(local, enter):
    enter("11-03", "c-0123456789ab", None)
    text = local.get("/costs?month=2026-11").text
    assert re.search(r"<dt>Total</dt><dd>unknown</dd>", text)
    assert "0.000000" not in text


def test_an_object_that_is_no_entry_is_named(local, store, bucket):
    store.write(ledger_root(bucket) / "2026/11/03/x.json", b"{}")
    answer = local.get("/costs?month=2026-11")
    assert answer.status_code == 502
    assert "2026/11/03/x.json" in answer.text


def test_budgets_stand_with_what_is_spent_of_each(store, bucket, make_settings, now_entry):
    budgets = (
        Budget(usd=Decimal(10)),
        Budget(usd=Decimal(2), label="line=4", per="day", kind="soft"),
        Budget(usd=Decimal(5), label="line=5"),
    )
    app = make_app(store, make_settings(budgets=budgets))
    add_routes(app, CONSOLE)
    now_entry("line-4-0123456789ab", "2.5", {"line": "4"})
    text = TestClient(app, base_url="http://127.0.0.1").get("/costs").text
    row = re.compile(r"([^>]+ per \w+) <.*?<td[^>]*>([\d.]+ of [\d.]+ USD[^<]*)<", re.DOTALL)
    found = row.findall(text)
    assert found == [
        ("all per month", "2.5000 of 10.00 USD"),
        ("line=4 per day", "2.5000 of 2.0000 USD, used up"),
        ("line=5 per month", "0.0000 of 5.0000 USD"),
    ]


@pytest.fixture
def now_entry(store, bucket):
    """Writes an entry of a moment that ends now."""

    def put(job: str, usd: str, labels: dict[str, str]) -> None:
        now = time.time()
        node = NodeTimes(node_id="n", launched_at=now, gone_at=now)
        common = {"since": now, "until": now, "offer": OFFER, "node": node, "labels": labels}
        write(store, bucket, [Entry(job_id=job, usd={"work": usd}, **common)])

    return put


def test_months_follow_each_other_over_the_year(local):
    assert Month(2026, 12).beside(1) == "2027-01"
    assert Month(2026, 1).beside(-1) == "2025-12"
    text = local.get("/costs?month=2025-12").text
    assert "December 2025" in text
    assert "/costs?month=2026-01" in text
    assert 'rel="next"' not in local.get("/costs").text  # nothing is known of what comes


@pytest.mark.parametrize("month", ["2026-13", "x", "2026-1", "../"])
def test_a_month_that_is_none_is_refused(local, month):
    assert local.get("/costs", params={"month": month}).status_code == 400


def test_a_name_in_the_ledger_is_text(local, enter):
    enter("11-03", "<img src=x>", {"work": "1"}, labels={"<b>": "<i>"}, model="<u>")
    text = local.get("/costs?month=2026-11").text
    assert not re.search("<img|<b>|<i>|<u>", text)
    assert "&lt;img src=x&gt;" in text
