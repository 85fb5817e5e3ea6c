"""A receipt's phases follow each other, and its bill sums to its total to the last digit."""

from decimal import Decimal

from infra.clusters.base import NodeInterval
from jobs.close import Totals
from jobs.cost.bill import Span, make_bill
from jobs.cost.receipt import Teardown, make_receipt, phase_seconds, read_receipt, receipt_bytes
from jobs.record import OfferSnapshot, Record

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


def receipt(rows: int):
    bill = make_bill([NODE], Span(100.0, 110.0, 150.0, 200.0), OFFER)
    totals = Totals(rows, rows, 0, {}, 0, 0, 0)
    return make_receipt(record(), totals, bill, (NODE,), Teardown(cluster_id="c"), final=True)


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
