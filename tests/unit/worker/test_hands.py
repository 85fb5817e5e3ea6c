"""A replica works a shard once at a time, whoever asks for it."""

import asyncio

import pytest

from jobs.order import Marker
from worker.hands import Hands

SHARD = ("s3://b/zeroshift/jobs/j/", 3)
MARKER = Marker(
    shard=3, epoch=1, attempt=1, rows=1, errors=0, digest="d", started_at=1.0, ended_at=2.0
)


class Work:
    """A shard's work that ends when it is let go."""

    def __init__(self, error: Exception | None = None) -> None:
        self.begun, self.given_up, self.error = 0, 0, error
        self.go = asyncio.Event()

    async def __call__(self) -> Marker:
        self.begun += 1
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.given_up += 1
            raise
        if self.error:
            raise self.error
        return MARKER


async def started(hands: Hands, work: Work, shard=SHARD) -> asyncio.Task:
    task = asyncio.create_task(hands.work(shard, work))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return task


def test_whoever_asks_for_a_shard_in_hand_gets_what_it_comes_to():
    async def run():
        hands, work = Hands(), Work()
        first, second = await started(hands, work), await started(hands, work)
        work.go.set()
        assert [await first, await second] == [MARKER, MARKER]
        assert work.begun == 1

    asyncio.run(run())


def test_other_shards_and_other_jobs_are_begun():
    async def run():
        hands, work = Hands(), Work()
        places = [SHARD, (SHARD[0], 4), ("s3://b/zeroshift/jobs/k/", 3)]
        tasks = [await started(hands, work, place) for place in places]
        work.go.set()
        await asyncio.gather(*tasks)
        assert work.begun == 3

    asyncio.run(run())


def test_a_shard_that_is_done_can_be_asked_for_again():
    async def run():
        hands, work = Hands(), Work()
        work.go.set()
        await hands.work(SHARD, work)
        await hands.work(SHARD, work)
        assert work.begun == 2

    asyncio.run(run())


def test_a_shard_is_given_up_only_when_nobody_waits_for_it():
    async def run():
        hands, work = Hands(), Work()
        killed, follower = await started(hands, work), await started(hands, work)
        killed.cancel()
        await asyncio.wait([killed])
        assert work.given_up == 0
        follower.cancel()
        await asyncio.wait([follower])
        await asyncio.sleep(0)
        assert work.given_up == 1

    asyncio.run(run())


def test_all_who_wait_hear_of_a_failure():
    async def run():
        hands, work = Hands(), Work(ValueError("no"))
        tasks = [await started(hands, work), await started(hands, work)]
        work.go.set()
        for task in tasks:
            with pytest.raises(ValueError, match="no"):
                await task

    asyncio.run(run())
