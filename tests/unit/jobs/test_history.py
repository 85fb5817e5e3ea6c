"""What ended jobs measured is kept once and told by node; what is broken costs nothing else."""

from dataclasses import replace
from decimal import Decimal

import pytest

from infra.clusters.base import NodeInterval
from jobs.addresses import Address, measured_root
from jobs.cost.account import Tenancy
from jobs.cost.bill import bill_of
from jobs.cost.told import Ending, Told
from jobs.errors import StoreUnavailable
from jobs.history import LATEST, recall, remember
from jobs.order import Attempt
from jobs.record import OfferSnapshot, Record
from jobs.states import State
from jobs.totals import Totals

NODE = NodeInterval("n", 0.0, 100.0)
TOTALS = Totals(10, 9, 1, {}, 900, 0, 100)
LOCAL = OfferSnapshot(
    name="local",
    usd_per_hour=Decimal(1),
    billing_granularity_s=1,
    minimum_s=0,
    catalogue_date="today",
)


def record(job: str = "j", offer: OfferSnapshot = LOCAL, **changes: object) -> Record:
    common = {"created_at": 0.0, "output": "s3://b/o/", "state": State.COMPLETED, "model": "a/m"}
    return Record(**{"job_id": job, "offer": offer, **common, **changes})


@pytest.fixture
def keep(store, bucket):
    """Keeps a job that started for 20 s and worked for 50 s."""

    def kept(
        job: Record, totals: Totals = TOTALS, work_s: float = 50.0, nodes=(NODE,), step_s: int = 1
    ) -> None:
        offer = LOCAL.model_copy(update={"billing_granularity_s": step_s})
        told = Told(Attempt(epoch=1, ready_at=20.0))
        stay = Tenancy(job, "c", offer, 0.0, told, Ending(done_at=20.0 + work_s))
        remember(store, bucket, job, totals, bill_of(stay.entries(nodes, 100.0)), 100.0)

    return kept


def test_a_job_that_ended_is_told_by_its_node(store, bucket, keep):
    keep(record())
    [(node, known)] = recall(store, bucket, "a/m").items()
    assert (node, known.jobs, known.startup_s, known.output_tokens) == ("local", 1, 20.0, 10.0)
    assert known.median_s == pytest.approx(50 / 1000)


def test_what_a_meter_rounds_up_is_not_taken_for_slowness(store, bucket, keep):
    keep(record(), work_s=0.25, step_s=3600)
    assert recall(store, bucket, "a/m")["local"].median_s == pytest.approx(0.25 / 1000)


def test_nothing_is_known_before_a_job_has_ended(store, bucket):
    assert recall(store, bucket, "a/m") == {}


def test_what_two_nodes_did_is_the_time_of_both_and_the_start_of_one(store, bucket, keep):
    keep(record(), nodes=(NODE, NodeInterval("o", 0.0, 100.0)))
    known = recall(store, bucket, "a/m")["local"]
    assert known.median_s == pytest.approx(2 * 50 / 1000)
    assert known.startup_s == 20.0


def test_jobs_on_a_gpu_are_told_by_the_gpu_whoever_rented_it_out(store, bucket, keep):
    for job, name in (("one", "aws/p5.48xlarge"), ("two", "runpod/h100")):
        keep(record(job, LOCAL.model_copy(update={"name": name, "gpu": "H100"})))
    assert {node: known.jobs for node, known in recall(store, bucket, "a/m").items()} == {"H100": 2}


def test_an_offer_whose_name_has_a_slash_is_a_node_of_its_own(store, bucket, keep):
    keep(record(offer=LOCAL.model_copy(update={"name": "acme/cpu"})))
    assert list(recall(store, bucket, "a/m")) == ["acme/cpu"]


def test_models_are_kept_apart_even_when_their_names_look_alike(store, bucket, keep):
    keep(record("one", model="a/m"))
    keep(record("two", model="a-m"))
    assert recall(store, bucket, "a/m")["local"].jobs == 1


@pytest.mark.parametrize(
    ("job", "totals"),
    [
        (record(state=State.FAILED), TOTALS),
        (record(state=State.CANCELLED), TOTALS),
        (record(state=State.OVER_BUDGET), TOTALS),
        (record(), replace(TOTALS, ok=0)),
        (record().model_copy(update={"offer": None}), TOTALS),
    ],
)
def test_a_job_that_would_mislead_is_not_kept(store, bucket, keep, job, totals):
    keep(job, totals)
    assert list(store.list(measured_root(bucket))) == []


def test_a_bill_that_is_made_again_is_not_another_job(store, bucket, keep):
    keep(record())
    keep(record(), work_s=40.0)
    assert recall(store, bucket, "a/m")["local"].median_s == pytest.approx(50 / 1000)


def test_a_store_that_does_not_take_it_costs_precision_and_no_bill(
    keep, store, bucket, monkeypatch
):
    def busy(address: Address, body: bytes) -> str:
        raise StoreUnavailable("busy")

    monkeypatch.setattr(store, "create", busy)
    keep(record())  # and raises nothing
    assert recall(store, bucket, "a/m") == {}


@pytest.mark.parametrize("body", [b"", b"{}", b"\xff", b"[1]"])
def test_a_broken_measurement_is_passed_over(store, bucket, keep, body):
    keep(record())
    [found] = store.list(measured_root(bucket))
    store.write(Address(bucket, f"{found.address.key}-broken"), body)
    assert recall(store, bucket, "a/m")["local"].jobs == 1


def test_only_the_latest_are_read(store, bucket, keep, monkeypatch):
    for number in range(LATEST + 3):
        keep(record(f"j{number}"))
    read, seen = store.read, []
    monkeypatch.setattr(store, "read", lambda address: seen.append(address) or read(address))
    assert recall(store, bucket, "a/m")["local"].jobs == len(seen) == LATEST
