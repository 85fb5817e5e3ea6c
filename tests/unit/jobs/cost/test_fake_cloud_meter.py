"""The meter that the ledger is held against, worked out by hand, and fed from a provider."""

import json

import pytest

from infra.clusters.local.registry import Registry
from tests.fake_cloud_meter import BILLIONTHS, FakeCloudMeter, Tariff

OFFER = {"usd_per_hour": "3.60", "billing_granularity_s": 1, "minimum_s": 0}


@pytest.mark.parametrize(
    ("offer", "ran_s", "billed_ms", "usd"),
    [
        ({}, 100, 100_000, 0.1),
        ({}, 0.001, 1000, 0.001),
        ({"minimum_s": 60}, 5, 60_000, 0.06),
        ({"billing_granularity_s": 60}, 61, 120_000, 0.12),
        ({"billing_granularity_s": None}, 61, 3_600_000, 3.6),
        ({"async_discount": "0.5"}, 100, 100_000, 0.05),
    ],
)
def test_a_node_costs_what_was_worked_out_by_hand(offer, ran_s, billed_ms, usd):
    cloud = FakeCloudMeter(Tariff.of({**OFFER, **offer}))
    cloud.feed([{"node_id": "n", "launched_at": 50.0, "gone_at": 50.0 + ran_s}])
    assert cloud.billed_ms("n") == billed_ms
    assert cloud.total() == round(usd * BILLIONTHS)


def test_where_booting_is_free_the_meter_starts_when_the_node_is_up():
    cloud = FakeCloudMeter(Tariff.of({**OFFER, "boot_billed": False}))
    cloud.feed([{"node_id": "n", "launched_at": 0.0, "joined_at": 40.0, "gone_at": 100.0}])
    cloud.feed([{"node_id": "never up", "launched_at": 0.0, "gone_at": 100.0}])
    assert (cloud.billed_ms("n"), cloud.billed_ms("never up")) == (60_000, 0)


def test_it_reads_what_the_local_provider_has_written(tmp_path):
    registry = Registry(tmp_path)
    for name in ("n", "alive"):
        registry.add(name, {})
    entry = registry.get("n")
    told = {"node_id": "n", "launched_at": entry.launched_at, "gone_at": entry.launched_at + 7.5}
    (tmp_path / "n.json").write_text(json.dumps(told))
    cloud = FakeCloudMeter(Tariff.of(OFFER))
    cloud.feed_registry(tmp_path)
    assert (cloud.billed_ms("n"), cloud.billed_ms("alive")) == (8000, 0)
