"""A shard's commit: answers to their own pictures, rows before the marker, or nothing at all."""

import asyncio
import hashlib
import time
from collections.abc import Callable
from typing import Any

import pytest

from jobs.addresses import Address
from jobs.errors import StoreUnavailable
from jobs.order import Marker, Turn
from jobs.store.bucket import Store
from worker.engines.base import Answer, EngineOptions, Question
from worker.engines.errors import EngineDead
from worker.engines.fake import FakeEngine


class BackwardsEngine(FakeEngine):
    """Waits for all questions and answers the last one first."""

    def __init__(self, count: int, rule: Callable[[Question], str]) -> None:
        super().__init__(EngineOptions("m"), rule)
        self._count, self._waiting = count, []

    async def ask(self, question: Question) -> Answer:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        if len(self._waiting) == self._count:
            for each in reversed(self._waiting):
                each.set_result(None)
                await asyncio.sleep(0)
        await turn
        return await super().ask(question)


def test_answers_come_to_their_own_pictures_in_whatever_order_they_are_given(shard, look, picture):
    shard.put([picture(red) for red in range(12)])
    shard.work(BackwardsEngine(12, look))
    assert [row.output["red"] for row in shard.rows()] == list(range(12))


def test_no_two_questions_share_a_request_id(shard, engine, picture):
    shard.put([picture(7)] * 10)
    asked = engine()
    shard.work(asked)
    assert len(set(asked.asked)) == 10
    assert all(each.startswith("job-1/0/") and each.endswith("/2.3") for each in asked.asked)


def test_a_dead_engine_ends_the_shard_and_only_its_turn_is_told(shard, engine, picture):
    def rule(question: Question) -> str:
        time.sleep(0.01)
        raise EngineDead("gone")

    shard.put([picture(1), b"", picture(3)])
    before = shard.written()
    with pytest.raises(EngineDead):
        shard.work(engine(rule))
    told = shard.paths.turn_of(0, 2, 3)
    assert shard.written() == sorted([*before, told.key])
    turn = Turn.model_validate_json(shard.store.read(told))
    assert (turn.epoch, turn.attempt) == (2, 3)
    assert turn.began_at <= turn.busy[0][0] < turn.busy[-1][1] <= turn.ended_at


def test_a_shard_that_counts_tells_when_the_engine_was_busy_and_leaves_no_turn(
    shard, engine, picture, monkeypatch
):
    monkeypatch.setenv("ZEROSHIFT_NODE", "c-n1")
    shard.put([picture(1), picture(2)])

    def rule(question: Question) -> str:
        time.sleep(0.01)
        return "{}"

    marker = shard.work(engine(rule))
    assert marker.node == "c-n1"
    assert marker.busy
    begin, end = marker.busy[0][0], marker.busy[-1][1]
    assert marker.started_at <= begin <= end <= marker.ended_at
    assert not [name for name in shard.written() if "/turns/" in name]
    assert marker.requests["writes"] >= 2
    assert marker.requests["received"] > 0


class Recorder:
    """Passes everything on, notes what is written but turns, and can fail at it."""

    def __init__(self, store: Store, fails_at: str = "never") -> None:
        self._store, self._fails_at = store, fails_at
        self.written: list[str] = []
        self.read, self.read_tagged = store.read, store.read_tagged
        self.delete, self.requests = store.delete, store.requests

    def write(self, address: Address, *rest: Any) -> None:
        if self._fails_at in address.key:
            raise StoreUnavailable(f"{address}: the store answered SlowDown")
        if "/turns/" not in address.key:
            self.written.append(address.key)
        self._store.write(address, *rest)

    def create(self, address: Address, *rest: Any) -> str:
        self.written.append(address.key)
        return self._store.create(address, *rest)


def test_the_marker_is_written_after_the_rows(shard, engine, picture):
    shard.put([picture(1)])
    recorder = Recorder(shard.store)
    shard.work(engine(), recorder)
    rows = shard.paths.rows_of_attempt(0, 2, 3).key
    assert recorder.written == [rows, shard.paths.marker_of(0).key]


def test_rows_that_could_not_be_written_have_no_marker(shard, engine, picture):
    shard.put([picture(1)])
    recorder = Recorder(shard.store, fails_at="/rows/")
    with pytest.raises(StoreUnavailable):
        shard.work(engine(), recorder)
    assert recorder.written == []


def test_the_markers_digest_is_that_of_the_rows_as_they_lie(shard, engine, picture):
    shard.put([picture(1), b"x"])
    marker = shard.work(engine())
    body = shard.body()
    stored = Marker.model_validate_json(shard.store.read(shard.paths.marker_of(0)))
    assert stored == marker
    assert marker.digest == hashlib.sha256(body).hexdigest()
    assert body.count(b"\n") == marker.rows == 2
    assert (marker.shard, marker.epoch, marker.attempt) == (0, 2, 3)
    assert marker.started_at <= marker.ended_at


def test_a_shard_worked_twice_has_the_same_rows_once(shard, engine, picture):
    shard.put([picture(1), picture(2)])
    shard.work(engine())
    shard.work(engine())
    assert [row.output["red"] for row in shard.rows()] == [1, 2]


def test_a_shard_that_an_earlier_claim_committed_is_not_worked_again(shard, engine, picture):
    shard.put([picture(1)])
    first, again = engine(), engine()
    committed = shard.work(first, epoch=2)
    assert shard.work(again, epoch=3) == committed
    assert (len(first.asked), again.asked) == (1, [])


def test_one_shard_of_a_replica_commits_at_a_time(shard, engine, picture, monkeypatch):
    """So that a replica which dies leaves at most one that was worked to the end in vain."""
    inside, most = [], []

    def watched(store, paths, body, marker):
        inside.append(marker.shard)
        most.append(len(inside))
        time.sleep(0.02)
        inside.remove(marker.shard)
        return marker

    monkeypatch.setattr("worker.shard.commit", watched)
    shard.put([picture(1)])
    shard.work_together(engine(), 3)
    assert most == [1, 1, 1]
