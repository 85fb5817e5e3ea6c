"""A shard that has killed two replicas is worked one input at a time, and its killer set apart."""

import asyncio

import pytest

from worker.engines.base import Answer, EngineOptions, Question
from worker.engines.fake import FakeEngine


class Killed(BaseException):
    """The end of the whole process, at the picture that does it."""


@pytest.fixture
def deadly(look):
    def rule(question: Question) -> str:
        if question.image.getpixel((3, 3))[0] == 4:
            raise Killed
        return look(question)

    return rule


def test_the_killer_is_known_from_what_was_in_hand_and_the_others_are_answered(
    shard, engine, picture, deadly, look
):
    shard.put([picture(red) for red in range(8)])
    for careful in (False, False, True):
        with pytest.raises(Killed):
            shard.work(engine(deadly), careful=careful)
    asked = engine(deadly)
    marker = shard.work(asked, careful=True)
    rows = shard.rows()
    killer = rows[4]
    assert (killer.error.code, killer.error.retryable) == ("worker_killed", True)
    assert [row.output["red"] for row in rows if row.output] == [0, 1, 2, 3, 5, 6, 7]
    assert (marker.rows, marker.errors) == (8, 1)
    assert len(asked.asked) == 7


def test_first_attempts_are_not_careful(shard, engine, picture):
    shard.put([picture(1)])
    shard.work(engine())
    assert not any("in-hand" in key for key in shard.written())


def test_what_another_claim_had_in_hand_accuses_nobody(shard, engine, picture, deadly):
    shard.put([picture(red) for red in range(8)])
    with pytest.raises(Killed):
        shard.work(engine(deadly), careful=True, epoch=2)
    assert shard.work(engine(), careful=True, epoch=3).errors == 0


def test_careful_work_has_one_question_with_the_engine_at_a_time(shard, picture, look):
    together: list[int] = []
    running = 0

    class Counting(FakeEngine):
        async def ask(self, question: Question) -> Answer:
            nonlocal running
            running += 1
            together.append(running)
            await asyncio.sleep(0)
            running -= 1
            return await super().ask(question)

    shard.put([picture(1)] * 6)
    shard.work(Counting(EngineOptions("m"), look), careful=True)
    assert together == [1] * 6
