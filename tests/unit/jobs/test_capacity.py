"""A refusal for want of capacity costs a job time: another offer, or the same ones later."""

import time
from decimal import Decimal

import pytest

from infra.errors import NoCapacity
from jobs.clusters.fleet import cluster_records
from jobs.control.setbacks import LONGEST_CAPACITY_S, capacity_s
from jobs.cost.ledger import entries
from jobs.errors import ManifestError
from jobs.manifest.manifest import job_id
from jobs.settings.groups import OwnOffer
from jobs.states import State
from jobs.submit.planning import plans_for
from jobs.submit.quoting import gather, quote_job

SPARE = OwnOffer(
    provider="local",
    instance="spare",
    name="spare",
    usd_per_hour=Decimal("7.20"),
    granularity_s=1,
    minimum_s=0,
)
BOTH = {"hardware": {"offer": ["local", "spare"]}}


@pytest.fixture
def settings(make_settings):
    return make_settings(offers=(SPARE,))


@pytest.fixture(autouse=True)
def no_waits(monkeypatch):
    monkeypatch.setattr("jobs.control.way_back.capacity_s", lambda before: 0.0)


@pytest.fixture
def refuse(workshop):
    """Makes the first so many clusters refuse: as they are raised, or when a node is wanted."""

    def first(count, at="node", nodes=0):
        make, work = workshop.make, workshop.work

        def up(cluster):
            for _ in range(nodes):
                cluster._add_node()
            time.sleep(0.005)  # a node that lived for less than a millisecond costs nothing
            raise NoCapacity("no_capacity: the zone is full")

        def made(provider, spec, folder):
            cluster = make(provider, spec, folder)
            if len(workshop.made) <= count:
                cluster._capacity = 0 if at == "node" else None
                if at == "up":
                    cluster.up = lambda: up(cluster)
            return cluster

        def waits(arguments, environment):
            if len(workshop.made) <= count:
                workshop.stopped.wait(30)
                workshop.stopped.clear()
                return 143
            return work(arguments, environment)

        workshop.make, workshop.work = made, waits

    return first


@pytest.mark.parametrize("at", ["node", "up"])
def test_the_next_offer_is_tried_when_one_has_no_node_to_give(
    store, bucket, controller, submitted, put_pictures, load, receipt, refuse, at
):
    refuse(1, at)
    put_pictures(2)
    job = submitted(**BOTH)
    controller().once()
    ended = load(job)
    assert (ended.state, ended.offer.name, ended.setbacks) == (State.COMPLETED, "spare", ())
    assert (ended.epoch, ended.refused, ended.no_capacity_since) == (2, (), 0.0)
    assert receipt(job)["bill"]["offer"]["name"] == "spare"
    assert {each.offer.name for each in cluster_records(store, bucket)} == {"local", "spare"}
    assert all(each.gone_at is not None for each in cluster_records(store, bucket))


def test_what_was_launched_of_an_offer_that_refused_is_returned_and_billed(
    store, bucket, controller, submitted, put_pictures, load, refuse
):
    refuse(1, "up", nodes=1)
    put_pictures(2)
    job = submitted(**BOTH)
    controller().once()
    kept = [each for each in entries(store, bucket) if each.kind == "node"]
    assert sorted(each.offer.name for each in kept) == ["local", "spare"]
    assert {each.job_id for each in kept} == {job.job_id}
    assert all(each.amount > 0 for each in kept)
    assert load(job).state is State.COMPLETED


def test_when_all_have_refused_all_are_tried_again_later_and_it_is_no_setback(
    make_settings, controller, submitted, put_pictures, load, refuse
):
    refuse(3)
    put_pictures(2)
    job = submitted(**BOTH)
    controller(make_settings(offers=(SPARE,), max_setbacks=0)).once()
    ended = load(job)
    assert (ended.state, ended.offer.name, ended.setbacks) == (State.COMPLETED, "spare", ())


def test_a_job_that_waits_for_capacity_says_so_and_its_waits_are_bounded(
    make_settings, controller, submitted, put_pictures, load, refuse, monkeypatch
):
    refuse(99)
    put_pictures(2)
    job = submitted()
    monkeypatch.setattr("jobs.control.way_back.capacity_s", lambda before: 1e6)
    worker = controller()
    waiting = worker.run(job.job_id)
    reason = "no_capacity: local: phase node: no_capacity: all 0 nodes are taken"
    assert (waiting.state, waiting.reason, waiting.owner) == (State.QUEUED, reason, "")
    assert (waiting.no_capacity_waits, waiting.refused) == (1, ())
    assert waiting.not_before > waiting.no_capacity_since + 1e5
    assert worker.run(job.job_id) is None
    worker.leave()


def test_a_job_that_has_waited_long_enough_fails_with_the_reason(
    make_settings, controller, submitted, put_pictures, load, refuse
):
    refuse(99)
    put_pictures(2)
    job = submitted()
    controller(make_settings(max_no_capacity_s=0)).once()
    assert load(job).state is State.FAILED
    assert load(job).reason.startswith("no_capacity: local: ")


def test_waits_for_capacity_grow_to_some_minutes():
    waits = [capacity_s(before) for before in range(99)]
    assert waits[:3] == [15.0, 30.0, 60.0]
    assert waits[-1] == LONGEST_CAPACITY_S


def test_a_single_name_and_no_name_make_the_ids_they_always_made(make_manifest):
    assert job_id(make_manifest(hardware={"offer": "local"})) == job_id(make_manifest())
    assert job_id(make_manifest(**BOTH)) != job_id(make_manifest())


@pytest.mark.parametrize("names", [[], ["local", "local"], ["local", "auto"], [""], [1]])
def test_a_list_that_means_nothing_is_refused_in_one_line(make_manifest, names):
    with pytest.raises(ManifestError, match=r"hardware") as caught:
        make_manifest(hardware={"offer": names})
    assert "\n" not in str(caught.value)


def test_offers_that_can_not_be_raised_yet_are_passed_over(settings, make_manifest):
    rented = "aws/p5.48xlarge"
    manifest = make_manifest(hardware={"offer": [rented, "spare", "local"]})
    assert [plan.offer.name for plan in plans_for(manifest, settings)] == ["spare", "local"]
    with pytest.raises(ManifestError, match="can be planned"):
        plans_for(make_manifest(hardware={"offer": [rented]}), settings)
    with pytest.raises(ManifestError, match="no offer 'nowhere'"):
        plans_for(make_manifest(hardware={"offer": ["local", "nowhere"]}), settings)


def test_a_quote_is_for_the_first_offer(store, settings, make_manifest, put_pictures):
    put_pictures(2)
    manifest = make_manifest(**BOTH)
    assert quote_job(gather(store, settings, manifest), settings, manifest).offer.name == "local"
