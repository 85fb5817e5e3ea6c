"""A receipt's phases follow each other, and its bill sums to its total to the last digit."""

import json
from decimal import Decimal

from infra.clusters.base import NodeInterval
from jobs.cost.account import Tenancy
from jobs.cost.receipt import (
    Teardown,
    make_receipt,
    phase_seconds,
    read_receipt,
    receipt_bill,
    receipt_bytes,
)
from jobs.cost.told import Ending, Told
from jobs.cost.verify import receipt_problems
from jobs.order import Attempt
from jobs.record import OfferSnapshot, Record
from jobs.totals import Totals

OFFER = OfferSnapshot(
    name="local",
    usd_per_hour=Decimal("3.60"),
    billing_granularity_s=1,
    minimum_s=0,
    catalogue_date="today",
)
NODE = NodeInterval("n", 100.0, 200.0)


def record(**entered: float) -> Record:
    return Record(
        job_id="j", created_at=90.0, output="s3://b/o/", model="m", entered=entered, offer=OFFER
    )


def entries(offer: OfferSnapshot = OFFER):
    told = Told(Attempt(epoch=1, ready_at=110.0))
    stay = Tenancy(record(), "c", offer, 100.0, told, Ending(150.0), {"reads": 1234})
    return stay.entries([NODE], 200.0)


def receipt(rows: int, offer: OfferSnapshot = OFFER):
    totals = Totals(rows, rows, 0, {}, 0, 0, 0)
    charged = None if offer.usd_per_hour is None else Decimal("0.04")
    bill = receipt_bill(entries(offer), record(), rows, charged, final=True)
    return make_receipt(record(), totals, bill, Teardown(cluster_id="c"))


def test_phases_last_until_the_next_one_and_the_last_is_resting():
    done = record(planning=91.0, running=101.5, completed=150.0)
    assert phase_seconds(done, 160.0) == {
        "queued": 1.0,
        "planning": 10.5,
        "running": 48.5,
        "resting": 10.0,
    }


def test_while_the_cluster_runs_resting_is_not_known_yet():
    assert phase_seconds(record(failed=95.0), None) == {"queued": 5.0, "resting": 0.0}


def test_a_job_that_was_handed_on_has_no_negative_phase():
    handed = record(running=120.0, queued=130.0, planning=131.0, completed=150.0)
    assert min(phase_seconds(handed, 160.0).values()) >= 0


def test_what_was_before_a_job_was_handed_on_is_one_phase_and_all_of_them_are_its_time():
    handed = record(planning=95.0, running=120.0, queued=130.0, provisioning=131.0, completed=150.0)
    assert phase_seconds(handed, 160.0) == {
        "earlier_claims": 40.0,
        "queued": 1.0,
        "provisioning": 19.0,
        "resting": 10.0,
    }


def test_the_phases_of_the_bill_sum_to_its_total():
    bill = receipt(4).bill
    assert sum(phase.usd for phase in bill.phases) == bill.total_usd == Decimal("0.1")
    assert sum(phase.seconds for phase in bill.phases) == bill.billed_s == 100


def test_the_price_of_a_thousand_pictures_is_unknown_without_pictures():
    assert receipt(4).bill.usd_per_1000_images == Decimal(25)
    assert receipt(0).bill.usd_per_1000_images is None


def test_amounts_are_plain_text_in_the_file():
    shown = read_receipt(receipt_bytes(receipt(4)))
    assert shown["bill"]["total_usd"] == "0.100000000"
    assert shown["bill"]["usd_per_1000_images"] == "25.000000"


def test_what_has_no_price_is_told_and_makes_no_other_amount_unknown():
    bill = receipt(4).bill
    assert bill.not_priced == ("storage requests (1,234 reads)",)
    assert [(line.unit, line.usd) for line in bill.lines] == [("reads", None)]
    assert bill.total_usd == Decimal("0.1")
    assert bill.rows_usd + bill.overhead_usd == bill.total_usd


def test_a_billing_unit_that_is_unknown_is_said_to_be_assumed():
    offer = OFFER.model_copy(update={"billing_granularity_s": None})
    bill = receipt_bill(entries(offer), record().model_copy(update={"offer": offer}), 4, None, True)
    assert bill.billed_s == 3600
    assert bill.unit == "billed as by the hour, since its billing unit is unknown"


def test_where_the_price_of_a_node_is_unknown_so_is_the_bill():
    bill = receipt(4, OFFER.model_copy(update={"usd_per_hour": None})).bill
    assert (bill.total_usd, bill.usd_per_1000_images, bill.overhead_usd) == (None, None, None)
    assert {phase.usd for phase in bill.phases} == {None}
    assert bill.billed_s == 100


def test_a_receipt_that_says_something_else_than_the_ledger_is_found_out():
    sound = receipt(4)
    assert list(receipt_problems(sound, entries())) == []
    wrong = sound.bill.model_copy(update={"billed_s": Decimal(99)})
    [said] = receipt_problems(sound.model_copy(update={"bill": wrong}), entries())
    assert said == "j: its receipt has billed_s 99, the ledger 100"


def test_a_receipt_of_version_1_can_still_be_read():
    new = json.loads(receipt_bytes(receipt(4)))
    bill = {
        name: new["bill"][name]
        for name in ("final", "total_usd", "billed_s", "raw_s", "usd_per_1000_images", "offer")
    }
    phases = [{"phase": "work", "seconds": "100", "usd": "0.1"}]
    node = {"node_id": "n", "launched_at": 100.0, "gone_at": 200.0}
    old = {**new, "version": 1, "bill": {**bill, "phases": phases, "nodes": [node]}}
    assert read_receipt(json.dumps(old).encode())["bill"]["phases"][0]["usd"] == "0.1"
