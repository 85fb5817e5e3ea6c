"""Metrics say what the bucket says, by names that Prometheus knows how to read."""

from decimal import Decimal

import pytest
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from jobs.cost.entry import Entry, NodeTimes
from jobs.cost.projection import projected_usd, seconds_left
from jobs.metrics import registry, registry_of, write_textfile
from jobs.record import Counts, OfferSnapshot, Record
from jobs.states import State

OFFER = OfferSnapshot(
    name="x",
    usd_per_hour=Decimal("3.60"),
    billing_granularity_s=1,
    minimum_s=0,
    catalogue_date="today",
)


def record(state=State.RUNNING, **changes) -> Record:
    told = {"created_at": 0.0, "output": "s3://b/o/", "model": "m", "state": state}
    told |= {"entered": {"provisioning": 100.0, "running": 150.0}, "cost_usd": Decimal("0.1")}
    told |= {"counts": Counts(total=100, done=25, errors=5)}
    return Record(job_id="j", **{**told, **changes})


def entry(**changes) -> Entry:
    told = {"job_id": "j", "model": "m", "since": 0.0, "until": 100.0, "offer": OFFER}
    told |= {"node": NodeTimes(node_id="n", launched_at=0.0), "images": 10, "ok": 8}
    told |= {"raw_s": {"work": Decimal("99.5")}, "billed_s": {"work": Decimal(100)}}
    return Entry(**{**told, "usd": {"work": Decimal("0.1")}, **changes})


def samples(records=(), entries=(), now=200.0) -> dict[tuple[str, ...], float]:
    text = generate_latest(registry(records, entries, now)).decode()
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_a_running_job_has_its_pictures_and_its_cost_so_far_and_at_the_end():
    found = samples([record()])
    assert found["zeroshift_jobs", "running"] == 1
    assert found["zeroshift_jobs", "queued"] == 0
    assert found["zeroshift_job_images_total", "j", "m"] == 25
    assert found["zeroshift_job_image_errors_total", "j", "m"] == 5
    assert found["zeroshift_job_images_expected", "j", "m"] == 100
    assert found["zeroshift_job_cost_usd", "j", "m"] == 0.1
    assert found["zeroshift_job_projected_cost_usd", "j", "m"] == pytest.approx(0.26)


def test_the_ledger_is_summed_by_model_class_and_meter():
    found = samples(entries=[entry(), entry(), entry(usd=None)])
    assert found["zeroshift_cost_usd_total", "m", "node", "work"] == 0.2
    assert found["zeroshift_node_seconds_total", "billed", "m", "work"] == 300
    assert found["zeroshift_node_seconds_total", "m", "raw", "work"] == 298.5
    assert found["zeroshift_images_total", "m", "ok"] == 24
    assert found["zeroshift_images_total", "error", "m"] == 6
    assert found["zeroshift_ledger_unpriced_entries_total", "node"] == 1


def test_what_is_unknown_is_left_out_and_jobs_that_ended_have_no_series():
    found = samples([record(cost_usd=None), record(State.COMPLETED)])
    assert not [name for name, *_ in found if "cost_usd" in name]
    assert found["zeroshift_jobs", "running"] == 1
    assert len([name for name, *_ in found if name == "zeroshift_job_images_total"]) == 1


def test_the_bucket_is_read_and_a_textfile_is_whole(store, bucket, settings, tmp_path):
    made = registry_of(store, settings)
    write_textfile(tmp_path / "z.prom", made)
    assert 'zeroshift_jobs{state="queued"} 0.0' in (tmp_path / "z.prom").read_text()


def test_a_job_is_projected_by_its_rate_and_what_is_left():
    assert seconds_left(record(), 200.0) == 150
    # A tenth of a cent a second, 150 s of work and 10 s until the cluster is gone.
    assert projected_usd(record(), 200.0) == Decimal("0.26")
    assert projected_usd(record(), 200.0, idle_s=20.0) == Decimal("0.28")


def test_nothing_is_projected_before_the_first_picture_or_without_a_price():
    assert projected_usd(record(counts=Counts(total=9)), 200.0) is None
    assert projected_usd(record(cost_usd=None), 200.0) is None
    assert projected_usd(record(State.QUEUED), 200.0) is None
    assert projected_usd(record(State.OVER_BUDGET), 200.0) == Decimal("0.1")  # it has ended
