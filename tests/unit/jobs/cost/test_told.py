"""What workers told is read from the bucket, and their clocks are compared with ours."""

import time

import pytest

from infra.clusters.base import NodeInterval
from jobs.addresses import JobPaths
from jobs.cost.told import Ending, read_told
from jobs.order import Attempt, Marker, Order, Sampling, Turn
from jobs.store.memory import MemoryStore

PATHS = JobPaths.of("b", "j")


@pytest.fixture
def books() -> MemoryStore:
    store = MemoryStore()
    store.make_bucket("b")
    return store


def order(written_at: float | None) -> Order:
    sampling = Sampling(temperature=0, top_p=1, max_tokens=9, seed=0)
    return Order(
        job_id="j",
        model="m",
        engine={},
        replicas=1,
        cpus=1,
        prompt="?",
        answer_schema={},
        box_field=None,
        sampling=sampling,
        min_pixels=None,
        max_pixels=None,
        shards=1,
        written_at=written_at,
    )


def put(store, address, noun) -> None:
    store.write(address, noun.model_dump_json().encode())


def marker(stamp: float, epoch: int = 1, attempt: int = 1) -> Marker:
    return Marker(
        shard=0,
        epoch=epoch,
        attempt=attempt,
        rows=1,
        errors=0,
        digest="d",
        started_at=stamp - 5,
        ended_at=stamp,
        node="n",
        busy=((stamp - 4, stamp - 1),),
    )


@pytest.mark.parametrize(
    ("ahead_s", "noticed"), [(0.0, 0.0), (3.0, 0.0), (-300.0, -300.0), (60.0, 60.0)]
)
def test_a_workers_clock_is_compared_with_the_controllers_by_the_stores_stamps(
    books, ahead_s, noticed
):
    now = time.time()
    put(books, PATHS.order, order(now))
    put(books, PATHS.marker_of(0), marker(now + ahead_s))
    told = read_told(books, PATHS, 1, {0: marker(now + ahead_s)})
    node = NodeInterval("n", now - 100, None)
    assert told.skew(node) == pytest.approx(noticed, abs=1)
    cuts = told.cuts(node, [node], Ending())
    shifted = ahead_s - noticed
    assert cuts.work[0] == (
        pytest.approx(now - 4 + shifted, abs=1),
        pytest.approx(now - 1 + shifted, abs=1),
    )


def test_both_clocks_may_be_wrong_as_long_as_they_agree(books):
    now = time.time() - 1000
    put(books, PATHS.order, order(now))
    put(books, PATHS.marker_of(0), marker(now))
    assert read_told(books, PATHS, 1, {0: marker(now)}).skews == {}


def test_an_order_that_does_not_say_when_it_was_written_shifts_nothing(books):
    put(books, PATHS.order, order(None))
    put(books, PATHS.marker_of(0), marker(5.0))
    assert read_told(books, PATHS, 1, {0: marker(5.0)}).skews == {}


def test_turns_of_the_epoch_that_do_not_count_are_read(books):
    for turn in (
        Turn(shard=0, epoch=1, attempt=1, began_at=1.0),
        Turn(shard=0, epoch=1, attempt=2, began_at=2.0),  # it counts: taken away too late
        Turn(shard=1, epoch=2, attempt=1, began_at=3.0),
    ):
        put(books, PATHS.turn_of(turn.shard, turn.epoch, turn.attempt), turn)
    told = read_told(books, PATHS, 1, {0: marker(9.0, attempt=2)})
    assert [(each.shard, each.attempt) for each in told.turns] == [(0, 1)]


def test_markers_of_other_epochs_are_not_this_ones(books):
    put(books, PATHS.attempt(2), Attempt(epoch=2, ready_at=7.0))
    told = read_told(books, PATHS, 2, {0: marker(9.0)})
    assert (told.markers, told.attempt.ready_at) == ((), 7.0)


def test_where_nothing_can_be_read_nothing_is_told(books):
    told = read_told(books, PATHS, 1, {})
    node = NodeInterval("n", 1.0, None)
    cuts = told.cuts(node, [node], Ending())
    assert (cuts.work, cuts.ready_at, told.rows(node, [node])) == ((), None, (0, 0))
