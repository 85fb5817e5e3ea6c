"""The driver: what is done is skipped, what fails is tried again, but not for ever."""

import warnings
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ray")

with warnings.catch_warnings(action="ignore"):  # Ray's own, while it is imported
    from ray.exceptions import RayActorError, RayTaskError
    from ray.serve.exceptions import DeploymentUnavailableError

from jobs.addresses import JobPaths
from jobs.order import Attempt, Order, Sampling
from jobs.store.bucket import Store
from worker import driver, hand_back
from worker.driver import CAREFUL_AFTER, SHARD_ATTEMPTS, Driver, report
from worker.errors import HandedBack, NodeLeaving, ShardFailed
from worker.hand_back import HandBack


class Response:
    """What a handle answers at once: done, with a result or an error."""

    cancelled = False

    def __init__(self, error: Exception | None) -> None:
        self._error = error

    def result(self, timeout_s: float) -> None:
        if self._error is not None:
            raise self._error

    def cancel(self) -> None:
        self.cancelled = True


class Handle:
    """Stands for Serve's; `fails` says which attempt at which shard fails, and how."""

    def __init__(self, fails: Callable[[int, int], Exception | None]) -> None:
        self.work, self._fails = self, fails
        self.calls: list[tuple[str, int, int, int]] = []
        self.careful: list[bool] = []
        self.most_flying = self.flying = 0

    def remote(
        self, job: str, order: dict[str, Any], shard: int, epoch: int, attempt: int, careful: bool
    ) -> Any:
        assert Order.model_validate(order).shards > shard
        self.calls.append((job, shard, epoch, attempt))
        self.careful.append(careful)
        self.flying += 1
        self.most_flying = max(self.most_flying, self.flying)
        return Response(self._fails(shard, attempt))

    @property
    def attempts(self) -> Counter[int]:
        return Counter(shard for _, shard, _, _ in self.calls)


@pytest.fixture
def paths(bucket: str) -> JobPaths:
    return JobPaths.of(bucket, "job-1")


@pytest.fixture
def drive(store: Store, paths: JobPaths, monkeypatch) -> Callable[..., Handle]:
    """Drives a job of `shards` shards to its end; responses are done when they are looked at."""

    def run(
        shards: int,
        fails: Callable[[int, int], Exception | None] = lambda shard, attempt: None,
        replicas: int = 1,
        done: Callable[[Response], bool] = lambda response: True,
        hand_back: HandBack | None = None,
    ) -> Handle:
        handle = Handle(fails)

        def is_done(response: Response) -> bool:
            handle.flying -= done(response)
            return done(response)

        monkeypatch.setattr(driver, "_is_done", is_done)
        monkeypatch.setattr(driver, "time", SimpleNamespace(sleep=lambda seconds: None))
        order = Order(
            job_id="job-1",
            model="m",
            engine={},
            replicas=replicas,
            cpus=1,
            in_flight=3,
            prompt="p",
            answer_schema={},
            box_field=None,
            sampling=Sampling(temperature=0, top_p=1, max_tokens=9, seed=0),
            min_pixels=None,
            max_pixels=None,
            shards=shards,
        )
        handles.append(handle)
        handle.driver = Driver(store, paths, order, 7, handle, hand_back or HandBack())
        handle.driver.run()
        return handle

    handles: list[Handle] = []
    run.handles = handles  # type: ignore[attr-defined]
    return run


def task_error(cause: Exception) -> RayTaskError:
    return RayTaskError("work", "traceback", cause)


def test_every_shard_is_handed_out_once_with_the_jobs_address_and_epoch(drive, paths):
    handle = drive(5)
    assert handle.calls == [(str(paths.root), shard, 7, 1) for shard in range(5)]


def test_shards_that_are_committed_are_skipped(drive, store, paths):
    for shard in (0, 2, 3):
        store.write(paths.marker_of(shard), b"{}")
    assert sorted(drive(5).attempts) == [1, 4]


def test_a_job_with_nothing_left_asks_for_nothing(drive, store, paths):
    store.write(paths.marker_of(0), b"{}")
    assert drive(1).calls == []
    assert drive(0).calls == []


def test_rows_without_a_marker_do_not_count(drive, store, paths):
    store.write(paths.rows_of(0), b"")
    assert drive(1).attempts == {0: 1}


def test_a_shard_that_failed_is_handed_out_again_and_the_attempt_is_counted(drive):
    handle = drive(
        3, lambda shard, attempt: RayActorError() if (shard, attempt) == (1, 1) else None
    )
    assert handle.attempts == {0: 1, 1: 2, 2: 1}
    assert [attempt for _, shard, _, attempt in handle.calls if shard == 1] == [1, 2]


def test_a_shard_may_fail_up_to_its_last_attempt(drive):
    def fails(shard: int, attempt: int) -> Exception | None:
        return RayActorError() if attempt < SHARD_ATTEMPTS else None

    assert drive(2, fails).attempts == {0: SHARD_ATTEMPTS, 1: SHARD_ATTEMPTS}


def test_a_shard_that_always_fails_ends_the_job_with_the_cause(drive):
    with pytest.raises(ShardFailed) as caught:
        drive(1, lambda shard, attempt: task_error(ValueError("no weights")))
    assert str(caught.value) == "shard 0 failed 4 times, at last with ValueError: no weights"
    assert drive.handles[0].attempts == {0: SHARD_ATTEMPTS}


@pytest.mark.parametrize("error", [RayActorError(), DeploymentUnavailableError("engine")])
def test_a_replica_that_dies_or_never_comes_is_tried_again_and_named(drive, error):
    assert drive(1, lambda shard, attempt: error if attempt == 1 else None).attempts == {0: 2}
    with pytest.raises(ShardFailed, match=type(error).__name__):
        drive(1, lambda shard, attempt: error)


def test_a_request_that_reached_no_replica_is_done_with_and_not_waited_for():
    class Lost:
        def _to_object_ref_sync(self) -> None:
            raise RayActorError()

    assert driver._is_done(Lost())


def test_what_is_no_failure_of_a_replica_is_not_tried_again(drive):
    with pytest.raises(KeyError):
        drive(1, lambda shard, attempt: KeyError("a mistake of ours"))
    assert drive.handles[0].attempts == {0: 1}


@pytest.mark.parametrize(("replicas", "most"), [(1, 3), (2, 6)])
def test_no_more_shards_fly_than_the_replicas_can_hold(drive, replicas, most):
    assert drive(20, replicas=replicas).most_flying == most


def test_what_the_worker_reports_can_be_read_by_the_controller(store, paths):
    attempt = Attempt(epoch=7, ready_at=1.5, error="x")
    report(store, paths, attempt)
    assert Attempt.model_validate_json(store.read(paths.attempt(7))) == attempt


def preemptions() -> list[Exception]:
    """As the replica says it, and as Ray does of a replica that went with its node."""
    return [task_error(NodeLeaving("gone")), RayActorError(preempted=True)]


@pytest.mark.parametrize("error", preemptions())
def test_a_shard_whose_node_was_taken_away_is_handed_out_again_and_has_not_failed(drive, error):
    often = 3 * SHARD_ATTEMPTS
    handle = drive(1, lambda shard, attempt: error if attempt <= often else None)
    assert handle.attempts == {0: often + 1}
    assert handle.driver.preemptions == often
    assert handle.driver.failures[0] == 0
    assert not any(handle.careful), "nothing has killed a replica"


def test_preemptions_between_failures_do_not_bring_a_shard_to_its_end_sooner(drive):
    def fails(shard: int, attempt: int) -> Exception:
        return RayActorError(preempted=attempt % 2 == 0)

    with pytest.raises(ShardFailed, match="failed 4 times"):
        drive(1, fails)
    assert drive.handles[0].attempts == {0: 2 * SHARD_ATTEMPTS - 1}


def test_a_shard_is_worked_carefully_after_two_failures(drive):
    handle = drive(1, lambda shard, attempt: RayActorError() if attempt < SHARD_ATTEMPTS else None)
    assert handle.careful == [False] * CAREFUL_AFTER + [True] * (SHARD_ATTEMPTS - CAREFUL_AFTER)


def test_an_input_in_hand_when_the_node_was_taken_away_has_killed_nobody(drive, store, paths):
    def fails(shard: int, attempt: int) -> Exception | None:
        if attempt <= CAREFUL_AFTER:
            return RayActorError()
        if attempt > CAREFUL_AFTER + 1:
            return None
        store.write(paths.in_hand_of(shard), b"{}")
        return RayActorError(preempted=True)

    drive(1, fails)
    assert not list(store.list(paths.in_hand_of(0)))


def test_after_its_notice_the_driver_hands_out_nothing_and_waits_for_what_flies(drive):
    notice = HandBack()

    def done(response: Response) -> bool:
        notice.give()
        return True

    with pytest.raises(HandedBack, match="3 shards left"):
        drive(6, done=done, hand_back=notice)
    assert drive.handles[0].attempts == {0: 1, 1: 1, 2: 1}


def test_a_notice_in_the_last_shards_is_no_matter_when_they_are_done_in_time(drive):
    notice = HandBack()

    def done(response: Response) -> bool:
        notice.give()
        return True

    assert drive(2, done=done, hand_back=notice).attempts == {0: 1, 1: 1}


def test_what_is_not_done_within_the_notice_is_given_up(drive, monkeypatch):
    clock, notice = SimpleNamespace(now=0.0), HandBack(notice_s=120)
    monkeypatch.setattr(hand_back, "time", SimpleNamespace(monotonic=lambda: clock.now))
    looked: list[Response] = []

    def done(response: Response) -> bool:
        notice.give()
        looked.append(response)
        clock.now += 10
        return False

    with pytest.raises(HandedBack, match="5 shards left"):
        drive(5, done=done, hand_back=notice)
    assert 120 <= clock.now < 200
    assert all(response.cancelled for response in looked)


def test_a_notice_before_there_are_shards_ends_the_driver_where_it_stands():
    with pytest.raises(HandedBack):
        HandBack().give()


def test_told_to_wind_down_it_finishes_what_is_in_flight_and_begins_nothing(
    drive, store, paths, monkeypatch
):
    monkeypatch.setattr("worker.wind_down.LOOK_S", 0.0)

    def told_at_the_second(shard: int, attempt: int) -> Exception | None:
        if shard == 1:
            store.write(paths.wind_down_of(7), b"")
        return None

    handle = drive(20, told_at_the_second)
    assert sorted(handle.attempts) == [0, 1]
    assert handle.flying == 0
