"""Races, on a store whose compare-and-swap is atomic: Ceph's RADOS gateway."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from jobs.addresses import Address, JobPaths
from jobs.closing.reconcile import ShardReader, read_markers
from jobs.commit import commit, make_commit
from jobs.errors import Conflict, StoreUnavailable
from jobs.queue import dequeue, enqueue, queued
from jobs.record import Record, RecordFile, claimed
from jobs.rows import Row
from jobs.states import State
from jobs.store.bucket import Store
from jobs.store.memory import MemoryStore

CEPH = pytest.param("ceph", marks=pytest.mark.ceph)
on_ceph = pytest.mark.parametrize("server", [CEPH], indirect=True)
RACERS, ROUNDS = 8, 12


def race(racers: int, run: Callable[[int], Any]) -> list[Any]:
    """`run` in threads that start together; what each answers, or the `Conflict` it met."""
    together = threading.Barrier(racers)

    def start(number: int) -> Any:
        together.wait()
        try:
            return run(number)
        except Conflict as error:
            return error

    with ThreadPoolExecutor(racers) as threads:
        return list(threads.map(start, range(racers)))


def copied(store: Store) -> Store:
    """Another client of the same store."""
    if isinstance(store, MemoryStore):
        return MemoryStore(store._client)
    return Store(store.options)


@pytest.fixture
def stores(store) -> list[Store]:
    """A client for each racer, as if each were a process of its own."""
    return [copied(store) for _ in range(RACERS)]


def won(answers: list[Any]) -> list[int]:
    return [number for number, each in enumerate(answers) if not isinstance(each, Conflict)]


@on_ceph
def test_of_all_who_create_an_object_one_does(stores, bucket):
    for turn in range(ROUNDS):
        thing = Address(bucket, f"thing-{turn}")
        winners = won(race(RACERS, lambda n, thing=thing: stores[n].create(thing, b"%d" % n)))
        assert len(winners) == 1
        assert stores[0].read(thing) == b"%d" % winners[0]


@on_ceph
def test_of_all_who_replace_an_object_one_does(stores, bucket):
    thing = Address(bucket, "thing")
    etag = stores[0].create(thing, b"start")
    for turn in range(ROUNDS):
        bodies = [b"%d of %d" % (n, turn) for n in range(RACERS)]
        answers = race(RACERS, lambda n, etag=etag, b=bodies: stores[n].replace(thing, b[n], etag))
        [winner] = won(answers)
        assert stores[0].read(thing) == bodies[winner]
        etag = answers[winner]


@pytest.fixture
def files(stores, bucket) -> list[RecordFile]:
    paths = JobPaths.of(bucket, "j")
    files = [RecordFile(store, paths) for store in stores]
    files[0].create(Record(job_id="j", created_at=1.0, output=f"s3://{bucket}/o/", model="m"))
    return files


@on_ceph
def test_of_all_who_claim_a_record_one_does_in_each_epoch(files):
    owners = Counter()
    for epoch in range(1, ROUNDS + 1):
        now = 100.0 * epoch  # the last lease has run out

        def claim(n: int, now: float = now) -> Record:
            return files[n].change(lambda old: claimed(old, f"c{n}", now, 30.0))

        answers = race(RACERS, claim)
        winners = [n for n, each in enumerate(answers) if each.owner == f"c{n}"]
        assert len(winners) == 1
        assert {each.epoch for each in answers} == {epoch}
        owners[winners[0]] += 1
    assert files[0].load().epoch == ROUNDS


@on_ceph
def test_no_change_of_hundreds_at_once_is_lost(files):
    counted = 25

    def count(n: int) -> int:
        for _ in range(counted):
            while True:
                try:
                    files[n].change(lambda old: old.model_copy(update={"shards": old.shards + 1}))
                    break
                except StoreUnavailable:  # too many others at once
                    continue
        return counted

    assert sum(race(RACERS, count)) == files[0].load().shards == RACERS * counted


@on_ceph
def test_whoever_lost_the_epoch_never_writes_after_it(files):
    mine = files[0].change(lambda old: claimed(old, "old", 0.0, 30.0))
    seen: list[int] = []

    def run(n: int) -> None:
        if n == 1:
            files[1].change(lambda old: claimed(old, "new", 99.0, 30.0))
            return
        while True:
            record = files[n].change(
                lambda old: old.model_copy(update={"shards": old.shards + 1}), mine.epoch
            )
            seen.append(record.epoch)

    race(RACERS, run)
    assert set(seen) <= {mine.epoch}
    assert files[0].load().epoch == 2
    assert files[0].load().shards == len(seen)


@on_ceph
def test_of_all_attempts_at_a_shard_the_last_counts_and_its_rows_are_its_own(stores, bucket):
    paths = JobPaths.of(bucket, "j")

    def work(n: int) -> None:
        rows = [Row(key="s3://b/1", version="e", status="ok", output=n)]
        for shard in range(ROUNDS):
            commit(stores[n], paths, *make_commit(paths, rows, shard, n // 2 + 1, n % 2 + 1, 1.0))

    race(RACERS, work)
    markers = read_markers(stores[0], paths, {})
    assert {marker.rank for marker in markers.values()} == {(RACERS // 2, 2)}
    reader = ShardReader(stores[0], paths)
    assert [reader.rows(marker)[0].output for marker in markers.values()] == [RACERS - 1] * ROUNDS


@pytest.mark.parametrize(
    "server",
    ["memory", pytest.param("ceph", marks=[pytest.mark.ceph, pytest.mark.slow])],
    indirect=True,
)
def test_two_hundred_jobs_under_controllers_that_die_run_once_each(store, bucket):
    jobs = [f"job-{number:03d}" for number in range(200)]

    def submit(job: str) -> None:
        enqueue(store, bucket, job)
        record = Record(job_id=job, created_at=1.0, output=f"s3://{bucket}/o/", model="m")
        RecordFile(store, JobPaths.of(bucket, job)).create(record)

    with ThreadPoolExecutor(RACERS) as threads:
        list(threads.map(submit, jobs))
    ended: list[str] = []

    def control(n: int) -> None:
        """A controller that dies at every seventh step, and is followed by another."""
        mine, step, life = copied(store), n, 0
        clock = iter(range(0, 10**9, 100))  # every lease has run out by the next look
        while left := queued(mine, bucket):
            for job in [*left[n::2][:20], left[0]]:
                paths = JobPaths.of(bucket, job)
                file, name = RecordFile(mine, paths), f"c{n}-{life}"
                now = float(next(clock))
                record = file.change(lambda old, o=name, t=now: claimed(old, o, t, 30.0))
                if record.state.ended:
                    dequeue(mine, bucket, job)
                if record.state.ended or record.owner != name:
                    continue
                try:
                    for state in ("planning", "provisioning", "running", "finalizing", "completed"):
                        step += 1
                        if step % 7 == 0:
                            life += 1
                            break
                        file.change(
                            lambda old, s=state, t=now: old.moved(State(s), t), record.epoch
                        )
                    else:
                        ended.append(job)
                        dequeue(mine, bucket, job)
                except Conflict:
                    continue

    race(2, control)
    assert sorted(ended) == jobs
    records = [RecordFile(store, JobPaths.of(bucket, job)).load() for job in jobs]
    assert {record.state for record in records} == {State.COMPLETED}
    assert max(record.epoch for record in records) > 1  # some were taken over
