"""A history check of claim, lease and commit: several controllers, a store that loses answers.

Controllers run the real code, and are held before each request for as long as hypothesis likes:
that is a pause of a second or of an hour. Requests fail before they take effect, lose their answer
after it, are delivered again much later; clocks differ; processes die. After each step the history
of the store must be one that a single careful controller could have made.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise

import pytest
from botocore.exceptions import ClientError
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from jobs.addresses import Address, JobPaths
from jobs.closing.reconcile import read_markers
from jobs.commit import commit, make_commit
from jobs.control.controller import Controller
from jobs.errors import Conflict, StoreUnavailable
from jobs.lease import LEASE_S
from jobs.order import Marker
from jobs.queue import dequeue, enqueue, queued
from jobs.record import Record, RecordFile
from jobs.rows import Row
from jobs.settings.settings import Settings
from jobs.states import State, check_move
from jobs.store.faulty_client import Actor
from jobs.store.fence import Fence
from jobs.store.memory import MemoryClient, MemoryStore

BUCKET, SHARDS = "b", 2
CONTROLLERS, SKEWS_S = 3, (0.0, -7.0, 40.0)
JOBS = ["one", "two"]
EXAMPLES = int(os.environ.get("ZEROSHIFT_HISTORIES", "60"))
FAULTS = st.sampled_from(["none"] * 6 + ["before", "lost", "lost", "late"])


class History(MemoryClient):
    """Remembers every version that an object has had."""

    def __init__(self) -> None:
        super().__init__()
        self.versions: dict[str, list[bytes]] = {}

    def put_object(self, *, Bucket, Key, Body, **more):  # noqa: N803
        answer = super().put_object(Bucket=Bucket, Key=Key, Body=Body, **more)
        self.versions.setdefault(Key, []).append(Body)
        return answer


class Worker:
    """A controller's main thread and its heartbeat, each an actor; the work itself is pretended."""

    def __init__(self, client: History, late: list, clock, skew_s: float) -> None:
        self.main, self.beat = Actor(client, late), Actor(client, late)
        self.clock = lambda: clock() + skew_s
        self.controller = Controller(self.main.store, Settings(bucket=BUCKET), clock=self.clock)
        self.claim: Record | None = None

    def work(self) -> None:
        """Look at the queue, claim a job, run it: what `Controller.look` and `JobRun` do."""
        try:
            for job in queued(self.main.store, BUCKET):
                paths = JobPaths.of(BUCKET, job)
                self.claim = self.controller._claim(paths)
                if self.claim is not None:
                    self.run(paths, self.claim.epoch)
                    return
        except (Conflict, StoreUnavailable):
            pass
        finally:
            self.claim = None

    def run(self, paths: JobPaths, epoch: int) -> None:
        store, file = self.main.store, quiet(self.main.store, paths)

        def move(state: State) -> None:
            file.change(lambda old: old.moved(state, self.clock()), epoch)

        move(State.PLANNING)
        move(State.PROVISIONING)
        move(State.RUNNING)
        done = read_markers(store, paths, {})
        for shard in set(range(SHARDS)) - set(done):
            rows = [Row(key=f"s3://b/{shard}", version="e", status="ok", output=epoch)]
            commit(store, paths, *make_commit(paths, rows, shard, epoch, 1, 1.0))
        move(State.FINALIZING)
        fence = Fence(store, lambda: file.change(lambda old: old, epoch))
        output = out(paths)
        fence.survey(output / "part-")
        for shard in range(SHARDS):
            fence.write(output / f"part-{shard}", f"{epoch} {self.controller.name}".encode())
        fence.write(output / "_SUCCESS", f"{epoch} {self.controller.name}".encode())
        move(State.COMPLETED)
        dequeue(store, BUCKET, paths.job_id)

    def renew(self) -> None:
        claim = self.claim
        if claim is None:
            return
        file = quiet(self.beat.store, JobPaths.of(BUCKET, claim.job_id))
        until = {"lease_until": self.clock() + LEASE_S}
        with suppress(Conflict, StoreUnavailable):
            file.change(lambda old: old.model_copy(update=until), claim.epoch)


def quiet(store, paths: JobPaths) -> RecordFile:
    return RecordFile(store, paths, sleep=lambda s: None)


def out(paths: JobPaths) -> Address:
    return Address(BUCKET, f"out/{paths.job_id}/")


class Histories(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.now, self.late = 1000.0, []
        self.client = History()
        self.store = MemoryStore(self.client)
        self.store.make_bucket(BUCKET)
        for job in JOBS:
            self.submit(job)
        self.workers = [self.new_worker(skew_s) for skew_s in SKEWS_S]

    def submit(self, job: str) -> None:
        enqueue(self.store, BUCKET, job)
        record = Record(job_id=job, created_at=1.0, output=f"s3://b/out/{job}/", model="m")
        quiet(self.store, JobPaths.of(BUCKET, job)).create(record)

    def new_worker(self, skew_s: float) -> Worker:
        return Worker(self.client, self.late, lambda: self.now, skew_s)

    @rule(who=st.integers(0, CONTROLLERS - 1), steps=st.lists(FAULTS, min_size=1, max_size=12))
    def work(self, who: int, steps: list) -> None:
        worker = self.workers[who]
        if worker.main.idle:
            worker.main.start(worker.work)
        for fault in steps:
            worker.main.step(fault)

    @rule(who=st.integers(0, CONTROLLERS - 1))
    def work_on(self, who: int) -> None:
        """To the end, without a fault."""
        self.work(who, ["none"] * 80)

    @rule(
        who=st.integers(0, CONTROLLERS - 1),
        by=st.integers(0, CONTROLLERS - 1),
        first=st.integers(1, 45),
        between=st.just(90) | st.integers(1, 60),
        then=st.integers(1, 60),
    )
    def overtake(self, who: int, by: int, first: int, between: int, then: int) -> None:
        """One is paused for longer than its lease, another works meanwhile, then it goes on."""
        self.work(who, ["none"] * first)
        self.wait(600.0)
        self.work(by, ["none"] * between)
        self.work(who, ["none"] * then)

    @rule(who=st.integers(0, CONTROLLERS - 1), steps=st.lists(FAULTS, min_size=1, max_size=4))
    def beat(self, who: int, steps: list) -> None:
        worker = self.workers[who]
        if worker.beat.idle:
            worker.beat.start(worker.renew)
        for fault in steps:
            worker.beat.step(fault)

    @rule(seconds=st.sampled_from([1.0, 10.0, LEASE_S + 1, 600.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(who=st.integers(0, CONTROLLERS - 1))
    def die(self, who: int) -> None:
        """The process ends, its unanswered requests with it; another starts in its place."""
        self.kill(self.workers[who])
        self.workers[who] = self.new_worker(SKEWS_S[who])

    def kill(self, worker: Worker) -> None:
        worker.main.kill()
        worker.beat.kill()

    @rule()
    def deliver_late(self) -> None:
        if self.late:
            with suppress(ClientError):  # its condition does not hold any more
                self.late.pop(0)()

    @rule(job=st.sampled_from(JOBS))
    def submit_again(self, job: str) -> None:
        self.submit(job)

    def records(self, job: str) -> list[Record]:
        key = JobPaths.of(BUCKET, job).record.key
        return [Record.model_validate_json(body) for body in self.client.versions.get(key, [])]

    @invariant()
    def nothing_surprises_the_code(self) -> None:
        actors = [actor for worker in self.workers for actor in (worker.main, worker.beat)]
        assert [actor.error for actor in actors if actor.error] == []

    @invariant()
    def an_epoch_has_one_owner_and_no_older_one_writes_after_it(self) -> None:
        for job in JOBS:
            for old, new in pairwise(self.records(job)):
                assert new.epoch in (old.epoch, old.epoch + 1)
                if new.epoch == old.epoch:
                    assert new.owner == old.owner

    @invariant()
    def a_job_moves_by_the_table_and_ends_once(self) -> None:
        for job in JOBS:
            for old, new in pairwise(self.records(job)):
                if new.state is not old.state:
                    check_move(old.state, new.state)

    @invariant()
    def a_claim_is_made_only_when_the_lease_has_run_out_by_some_clock(self) -> None:
        latest = self.now + max(SKEWS_S)
        for job in JOBS:
            for old, new in pairwise(self.records(job)):
                if new.epoch > old.epoch and old.owner not in ("", new.owner):
                    assert old.lease_until < latest

    @invariant()
    def a_committed_shard_stays_and_its_rows_with_it(self) -> None:
        for job in JOBS:
            paths = JobPaths.of(BUCKET, job)
            for shard in range(SHARDS):
                versions = self.client.versions.get(paths.marker_of(shard).key, [])
                markers = [Marker.model_validate_json(body) for body in versions]
                assert all(old.rank < new.rank for old, new in pairwise(markers))
                for marker in markers:
                    rows = self.client.versions[(paths.rows / marker.file).key]
                    assert len(set(rows)) == 1

    @invariant()
    def the_results_of_a_completed_job_are_those_of_the_controller_that_completed_it(self) -> None:
        for job in JOBS:
            last = (self.records(job) or [None])[-1]
            if last is not None and last.state is State.COMPLETED:
                said = set(self.said(JobPaths.of(BUCKET, job)))
                assert said == {f"{last.epoch} {last.owner}"}

    def said(self, paths: JobPaths) -> Iterator[str]:
        for name in ("part-0", "part-1", "_SUCCESS"):
            yield self.store.read(out(paths) / name).decode()

    def teardown(self) -> None:
        """Whatever has happened, one more controller brings every job to its end."""
        for worker in getattr(self, "workers", []):
            self.kill(worker)
        while getattr(self, "late", None):
            self.deliver_late()
        if not hasattr(self, "workers"):
            return
        self.now += 3600.0
        self.workers = [self.new_worker(max(SKEWS_S))]
        for _ in range(2 * len(JOBS)):
            self.work_on(0)
        assert [self.records(job)[-1].state for job in JOBS] == [State.COMPLETED] * len(JOBS)
        assert queued(self.store, BUCKET) == []
        for job in JOBS:
            assert set(read_markers(self.store, JobPaths.of(BUCKET, job), {})) == set(range(SHARDS))
        self.the_results_of_a_completed_job_are_those_of_the_controller_that_completed_it()
        self.nothing_surprises_the_code()


TestHistories = Histories.TestCase
TestHistories.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("fault", ["none", "before", "lost", "late"])
def test_a_pause_at_any_request_with_any_fault_before_it_spoils_nothing(fault):
    """Every point at which a controller can be overtaken, one after the other."""
    for pause in range(1, 34):
        history = Histories()
        history.begin()
        history.work(0, ["none"] * (pause - 1) + [fault])
        history.wait(600.0)
        history.work_on(1)
        history.work_on(0)
        history.an_epoch_has_one_owner_and_no_older_one_writes_after_it()
        history.a_committed_shard_stays_and_its_rows_with_it()
        history.teardown()
