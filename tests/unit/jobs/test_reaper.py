"""The reaper ends what holds no live lease, and nothing else; afterwards no bill goes on."""

import json

import pytest

from infra.clusters.base import ClusterSpec, NodeInterval
from infra.clusters.fake import HERE, FakeCluster, FakeSweeper
from jobs.addresses import clusters_root
from jobs.cluster_record import ClusterFile, cluster_records, fleet_name
from jobs.clusters.estate import settle
from jobs.clusters.fleet import Fleet
from jobs.clusters.orphans import ELSEWHERE_S, SKEW_S
from jobs.clusters.reaper import Reaper
from jobs.control.suspects import Suspects
from jobs.cost.ledger import entries
from jobs.submit.planning import plan_for

LEASE_S = 60.0


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def sweep(workshop):
    return FakeSweeper(workshop.made)


@pytest.fixture
def reaper(store, bucket, sweep, clock):
    return Reaper(store, bucket, "reaper-1", lambda provider: sweep, clock)


@pytest.fixture
def plan(settings, make_manifest):
    return plan_for(make_manifest(), settings)


@pytest.fixture
def fleet(store, settings, workshop):
    return Fleet(store, settings, "controller-1", workshop.make)


@pytest.fixture
def left_behind(fleet, plan, clock, tmp_path, workshop):
    """A cluster with one node whose controller has died; its lease is dead now."""

    def leave(tenant=""):
        raised = fleet.acquire(plan, clock.now, tenant)
        workshop.made[-1]._nodes.append(NodeInterval("n1", clock.now, None))
        fleet.write_nodes()
        fleet.current = None
        clock.now += LEASE_S + SKEW_S
        return raised

    return leave


def outcomes(reaped):
    return [(each.cluster_id, each.outcome) for each in reaped]


def test_a_bucket_that_never_had_a_cluster_has_nothing_to_reap(reaper):
    assert reaper.reap() == reaper.look() == []


def test_a_cluster_with_a_live_lease_is_never_touched(reaper, fleet, plan, clock, workshop):
    fleet.acquire(plan, clock.now)
    clock.now += LEASE_S
    assert reaper.reap() == []
    assert workshop.made[0].alive()


def test_a_renewed_lease_counts_from_its_renewal(reaper, fleet, plan, clock, workshop):
    fleet.acquire(plan, clock.now)
    clock.now += LEASE_S - 1
    fleet.renew(clock.now)
    clock.now += LEASE_S
    assert reaper.reap() == []
    clock.now += SKEW_S
    assert len(reaper.reap()) == 1


def test_a_dry_run_names_it_and_changes_nothing(store, bucket, reaper, left_behind, workshop):
    raised = left_behind()
    before = cluster_records(store, bucket)
    assert outcomes(reaper.look()) == [(raised.record.cluster_id, "found")]
    assert cluster_records(store, bucket) == before
    assert workshop.made[0].alive()


def test_a_cluster_without_a_live_lease_is_ended_and_its_bill_with_it(
    store, bucket, reaper, left_behind, workshop, sweep, clock
):
    raised = left_behind()
    assert outcomes(reaper.reap()) == [(raised.record.cluster_id, "ended")]
    [record] = cluster_records(store, bucket)
    assert not workshop.made[0].alive()
    assert record.gone_at == clock.now
    assert all(node.gone_at is not None for node in record.nodes)
    assert record.checked.startswith("reaped at 1970-01-01 00:17:45Z by reaper-1: no process")
    assert sweep.forgotten == [record.cluster_id]


def test_reaping_twice_finds_nothing_the_second_time(store, bucket, reaper, left_behind):
    left_behind()
    reaper.reap()
    before = cluster_records(store, bucket)
    assert reaper.reap() == []
    assert cluster_records(store, bucket) == before


def test_a_cluster_that_was_only_intended_is_closed_too(store, bucket, reaper, clock, left_behind):
    raised = left_behind()
    file = ClusterFile.load(store, bucket, raised.record.cluster_id)
    file.change(state="intended", nodes=())
    reaper.reap()
    assert cluster_records(store, bucket)[0].gone_at == clock.now


def test_what_does_not_end_is_an_alarm_and_is_tried_again(
    store, bucket, reaper, left_behind, sweep
):
    left_behind()
    sweep.stuck = True
    [stuck] = reaper.reap()
    assert (stuck.outcome, stuck.alarm) == ("left", True)
    assert stuck.line.endswith("still runs: head")
    assert cluster_records(store, bucket)[0].gone_at is None
    sweep.stuck = False
    assert [each.outcome for each in reaper.reap()] == ["ended"]


def test_what_runs_without_a_record_is_ended(store, bucket, reaper, workshop):
    spec = ClusterSpec("zs-stray", 1, 1, fleet=fleet_name(store, bucket))
    workshop.made.append(FakeCluster(spec, lambda *_: 0))
    workshop.made[0].up()
    [stray] = reaper.reap()
    assert (stray.why, stray.outcome) == ("there is no record of it", "ended")
    assert not workshop.made[0].alive()


def test_what_runs_although_its_record_says_that_it_is_gone_is_ended(
    store, bucket, reaper, fleet, plan, workshop, clock
):
    fleet.acquire(plan, clock.now)
    fleet.rest()
    workshop.made[0].up()
    [stray] = reaper.reap()
    assert (stray.why, stray.outcome) == ("it ended, and yet it runs", "ended")
    assert not workshop.made[0].alive()


def test_what_is_going_down_in_order_is_no_orphan(reaper, fleet, plan, clock, sweep):
    """It ran when the reaper looked first, and was gone when the record was read."""
    raised, look = fleet.acquire(plan, clock.now), sweep.clusters
    seen = look(raised.cluster.spec.fleet)
    answers = [seen]
    sweep.clusters = lambda fleet: answers.pop() if answers else look(fleet)
    fleet.rest()
    assert reaper.reap() == []


def test_a_cluster_of_another_bucket_is_never_touched(store, bucket, reaper, left_behind, workshop):
    left_behind()
    spec = ClusterSpec("zs-theirs", 1, 1, fleet="their-bucket-1")
    workshop.made.append(FakeCluster(spec, lambda *_: 0))
    workshop.made[1].up()
    reaper.reap()
    assert workshop.made[1].alive()


def test_two_buckets_of_one_name_are_two_fleets_and_one_bucket_is_one(store, bucket, server):
    assert fleet_name(store, bucket) == fleet_name(store, bucket)
    server.make_bucket(f"{bucket}-2")
    assert fleet_name(store, f"{bucket}-2") != fleet_name(store, bucket)


def test_a_lease_that_is_renewed_at_the_last_moment_is_respected(
    store, bucket, reaper, left_behind, workshop, clock
):
    raised = left_behind()
    [orphan] = reaper._search.orphans()
    raised.file.change(lease_until=clock.now + LEASE_S)
    assert reaper._reap(orphan).outcome == "taken"
    assert workshop.made[0].alive()


def test_of_two_reapers_one_ends_it(store, bucket, sweep, clock, reaper, left_behind):
    left_behind()
    other = Reaper(store, bucket, "reaper-2", lambda provider: sweep, clock)
    [theirs], [ours] = other._search.orphans(), reaper._search.orphans()
    assert [other._reap(theirs).outcome, reaper._reap(ours).outcome] == ["ended", "taken"]


def test_the_owner_of_a_reaped_cluster_can_not_renew_it(reaper, fleet, left_behind, clock):
    raised = left_behind()
    reaper.reap()
    fleet.current = raised
    fleet.renew(clock.now)
    assert raised.spoiled
    assert raised.record.lease_until < clock.now


def test_a_cluster_on_another_machine_is_given_time_then_closed_with_an_alarm(
    store, bucket, reaper, left_behind, clock, workshop
):
    raised = left_behind()
    workshop.made.clear()  # nothing of it can be seen from here
    file = ClusterFile.load(store, bucket, raised.record.cluster_id)
    file.change(place="elsewhere:/tmp/zs")
    assert reaper.reap() == []
    clock.now += ELSEWHERE_S
    [unseen] = reaper.reap()
    assert (unseen.outcome, unseen.alarm) == ("unseen", True)
    [record] = cluster_records(store, bucket)
    assert "not looked at: it stood at elsewhere:/tmp/zs" in record.checked
    assert record.gone_at == clock.now
    assert reaper.reap() == []


def test_the_node_time_of_a_lost_job_goes_into_the_ledger_once(
    store, bucket, reaper, left_behind, submitted, put_pictures, clock
):
    put_pictures(1)
    job = submitted()
    left_behind(tenant=job.job_id)
    reaper.reap()
    found = list(entries(store, bucket))
    [entry] = [each for each in found if each.kind == "node"]
    [record] = cluster_records(store, bucket)
    assert (entry.job_id, entry.node.node_id) == (job.job_id, record.nodes[0].node_id)
    assert entry.setback
    assert entry.seconds > 0


def test_node_time_of_a_cluster_that_no_job_had_is_nobodys(store, bucket, reaper, left_behind):
    raised = left_behind()
    reaper.reap()
    settle(store, bucket, cluster_records(store, bucket)[0], raised.since)  # again: nothing new
    [entry] = entries(store, bucket)
    assert entry.job_id is None
    assert entry.amount == entry.usd["startup"] > 0


def test_where_a_cluster_stands_is_in_its_record(store, bucket, fleet, plan, clock):
    fleet.acquire(plan, clock.now)
    assert cluster_records(store, bucket)[0].place == HERE


def test_the_cluster_of_a_job_that_was_taken_over_is_ended_as_soon_as_its_lease_is_dead(
    store, bucket, reaper, fleet, plan, clock, workshop, submitted, put_pictures
):
    put_pictures(1)
    raised = fleet.acquire(plan, clock.now)
    suspects = Suspects(reaper)
    suspects.add(submitted().model_copy(update={"cluster_id": raised.record.cluster_id}))
    clock.now += LEASE_S
    assert suspects.reap() == []
    clock.now += SKEW_S
    assert outcomes(suspects.reap()) == [(raised.record.cluster_id, "ended")]
    assert suspects.reap() == []
    assert not workshop.made[0].alive()
    assert cluster_records(store, bucket)[0].gone_at == clock.now


def test_a_suspect_that_is_renewed_is_no_suspect_any_more(
    reaper, fleet, plan, clock, workshop, monkeypatch
):
    raised = fleet.acquire(plan, clock.now)
    assert reaper.reap_one(raised.record.cluster_id) is None
    clock.now += LEASE_S - 1
    assert reaper.reap_one(raised.record.cluster_id) == "soon"
    fleet.renew(clock.now)
    assert reaper.reap_one(raised.record.cluster_id) is None
    fleet.rest()
    clock.now += 10 * LEASE_S
    assert reaper.reap_one(raised.record.cluster_id) is None


def test_a_round_reads_no_record_of_what_has_gone_and_the_fleets_name_once(
    store, reaper, fleet, plan, clock, monkeypatch
):
    fleet.acquire(plan, clock.now)
    fleet.rest()
    reaper.reap()
    asked, request = [], store._request
    monkeypatch.setattr(
        store,
        "_request",
        lambda what, *rest, **more: asked.append(what) or request(what, *rest, **more),
    )
    reaper.reap()
    assert asked == ["list_objects_v2"]


def test_a_cluster_of_a_newer_version_is_nobodys_orphan(
    store, bucket, reaper, clock, workshop, left_behind
):
    left_behind()
    cluster_id = workshop.made[0].cluster_id
    address = clusters_root(bucket) / f"{cluster_id}.json"
    body = json.dumps({**json.loads(store.read(address)), "moons": 3}).encode()
    store.write(address, body)
    clock.now += 2 * ELSEWHERE_S
    unreadable: set[str] = set()
    assert reaper.look() == reaper.reap() == []
    assert cluster_records(store, bucket, unreadable) == []
    assert unreadable == {cluster_id}
    assert workshop.made[0].alive()
    assert store.read(address) == body
