"""A replica's notice: what can be done in time is done, the rest is handed back."""

import asyncio
import pickle
import warnings

import pytest

pytest.importorskip("ray")

with warnings.catch_warnings(action="ignore"):  # Ray's own, while it is imported
    from worker.notice import HAND_BACK_S, Notice

from worker.errors import NodeLeaving


async def answer() -> int:
    return 7


def test_without_a_notice_work_is_done_as_ever():
    async def run() -> int:
        notice = Notice(lambda: None)
        watching = asyncio.create_task(notice.watch())
        try:
            return await notice.within(answer())
        finally:
            watching.cancel()

    assert asyncio.run(run()) == 7


def test_what_is_done_before_the_node_must_go_counts():
    async def run() -> int:
        notice = Notice(lambda: 1000.0, clock=lambda: 1000.0 - HAND_BACK_S - 60)
        watching = asyncio.create_task(notice.watch())
        try:
            return await notice.within(answer())
        finally:
            watching.cancel()

    assert asyncio.run(run()) == 7


def test_what_is_not_done_in_time_is_given_up_and_handed_back():
    ended = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    async def run() -> None:
        notice = Notice(lambda: 1000.0, clock=lambda: 1000.0 - HAND_BACK_S)
        watching = asyncio.create_task(notice.watch())
        with pytest.raises(NodeLeaving):
            await notice.within(endless())
        await watching
        with pytest.raises(NodeLeaving, match="taken away"):
            await notice.within(endless())

    asyncio.run(run())
    assert ended == [True], "the second one was not begun"


def test_a_notice_that_comes_later_is_seen():
    said = iter([None, None, 1000.0])

    async def run() -> None:
        await Notice(lambda: next(said), clock=lambda: 1000.0).watch(look_s=0.001)

    asyncio.run(run())
    assert list(said) == [], "it looked until there was one"


def test_a_failure_of_the_work_is_its_own():
    async def broken() -> None:
        raise KeyError("x")

    async def run() -> None:
        with pytest.raises(KeyError):
            await Notice(lambda: None).within(broken())

    asyncio.run(run())


def test_the_words_of_a_replica_reach_the_driver():
    said = pickle.loads(pickle.dumps(NodeLeaving("why")))
    assert (type(said), str(said)) == (NodeLeaving, "why")
