"""What a job cost before its present claim: by the ledger, or by its record until that has it."""

from decimal import Decimal

import pytest

from infra.clusters.base import NodeInterval
from jobs.control.earlier import LOOK_EVERY_S, Earlier
from jobs.cost.entry import Entry
from jobs.record import OfferSnapshot, Record
from tests.made_entries import node_entry

OFFER = OfferSnapshot(
    name="x",
    usd_per_hour=Decimal(36),
    billing_granularity_s=1,
    minimum_s=0,
    catalogue_date="today",
)


def made(**changes) -> Record:
    return Record(job_id="j", created_at=1.0, output="s3://b/o/", model="m", **changes)


def entry_of(seconds: int) -> Entry:
    """Of the claim on cluster zs-1."""
    node = NodeInterval("n", 100.0, 100.0 + seconds)
    entry = node_entry(made(offer=OFFER), node, 101.0, 102.0, 100.0 + seconds)
    return entry.model_copy(update={"cluster_id": "zs-1"})


@pytest.fixture
def clock():
    return [1000.0]


@pytest.fixture
def earlier(clock):
    """Makes one over a ledger, which is a list, of a job that was claimed with these values."""

    def make(ledger: list, **claimed) -> Earlier:
        return Earlier(lambda: list(ledger), made(**claimed), lambda: clock[0])

    return make


def test_a_first_claim_has_cost_nothing_before(earlier):
    assert earlier([]).usd() == 0


def test_what_the_ledger_does_not_have_yet_counts_as_the_record_says(earlier, clock):
    ledger = []
    found = earlier(ledger, cluster_id="zs-1", cost_usd=Decimal("0.19"))
    assert found.usd() == Decimal("0.19")
    entry = entry_of(10)
    ledger.append(entry)
    assert found.usd() == Decimal("0.19")  # it is not asked at every look
    clock[0] += LOOK_EVERY_S
    assert found.usd() == entry.amount
    assert list(found.entries()) == [entry]


def test_a_price_that_is_unknown_stays_unknown(earlier):
    entry = entry_of(10)
    unknown = entry.model_copy(update={"usd": None})
    assert earlier([unknown], cluster_id="zs-2", cost_usd=Decimal("0.19")).usd() is None


def test_a_ledger_that_has_the_last_claim_is_not_read_again(earlier, clock):
    ledger = [entry_of(10)]
    found = earlier(ledger, cluster_id="zs-1", cost_usd=Decimal(5))
    ledger.append(entry_of(20))
    clock[0] += 10 * LOOK_EVERY_S
    assert len(found.entries()) == 1
