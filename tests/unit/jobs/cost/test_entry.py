"""An entry says all that a bill is made of, and what older versions wrote can still be read."""

import json
from decimal import Decimal

import pytest

from jobs.cost.entry import Entry, NodeTimes, read_entry
from jobs.record import OfferSnapshot

OFFER = OfferSnapshot(
    name="local",
    usd_per_hour=Decimal("3.60"),
    billing_granularity_s=1,
    minimum_s=0,
    catalogue_date="today",
)
NODE = NodeTimes(node_id="c-n1", launched_at=100.0, gone_at=200.0)


def entry(**changes) -> Entry:
    return Entry(
        **{"job_id": "j", "node": NODE, "since": 100.0, "until": 200.0, "offer": OFFER, **changes}
    )


OLD = {
    "version": 1,
    "job_id": "j",
    "cluster_id": "c",
    "node": {"node_id": "c-n1", "launched_at": 100.0, "gone_at": 200.0},
    "since": 100.0,
    "until": 200.0,
    "offer": {
        "name": "local",
        "usd_per_hour": "3.60",
        "billing_granularity_s": 1,
        "minimum_s": 0,
        "catalogue_date": "today",
        "gpu": None,
    },
    "billed_s": "100",
    "usd": "0.100000000",
    "seconds": {"startup": "21", "work": "59", "idle": "20"},
}


def test_what_is_written_is_read_back_with_all_its_places():
    one = entry(
        raw_s={"work": Decimal("99.500")},
        billed_s={"work": Decimal("100.000")},
        usd={"work": Decimal("0.100000000")},
    )
    text = one.model_dump_json()
    assert read_entry(text) == one
    assert json.loads(text)["usd"] == {"work": "0.100000000"}
    assert (one.amount, one.seconds) == (Decimal("0.1"), 100)


def test_an_unknown_price_is_none_and_not_nothing():
    assert entry(usd=None).amount is None
    assert entry(usd={}).amount == 0


def test_an_entry_of_version_1_is_read_with_its_classes_and_its_amount():
    old = read_entry(json.dumps(OLD))
    assert (old.version, old.kind, old.job_id, old.epoch) == (2, "node", "j", 0)
    assert old.billed_s == {"startup": 21, "work": 59, "idle": 20}
    assert old.amount == Decimal("0.1")
    assert old.usd == {
        "startup": Decimal("0.021"),
        "work": Decimal("0.059"),
        "idle": Decimal("0.020"),
    }


@pytest.mark.parametrize("body", ["[]", "{}", '{"version": 1}', '{"version": 3}', "x"])
def test_what_is_no_entry_is_refused(body):
    with pytest.raises(ValueError, match=r"entry|Entry|Expecting value"):
        read_entry(body)


def test_a_class_that_is_none_is_refused():
    with pytest.raises(ValueError, match="found class 'coffee'; allowed: startup"):
        entry(billed_s={"coffee": Decimal(1)})


def test_node_times_belong_to_nodes_and_heads_alone():
    with pytest.raises(ValueError, match="found kind 'requests'"):
        entry(kind="requests")
    with pytest.raises(ValueError, match="found kind 'node'"):
        entry(node=None)


def test_a_tenancy_always_has_the_same_name():
    assert entry(epoch=3).name == "j-c-n1-3.json"
    assert entry(job_id=None).name == "none-c-n1-0.json"
    assert entry(kind="requests", node=None, unit="read requests").name == "j-read-requests-0.json"
