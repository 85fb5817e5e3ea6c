"""An engine that dies is rebuilt; the question that kills it twice is set apart, others are ok."""

import asyncio

import pytest

from worker.engines.base import EngineOptions, Question
from worker.engines.errors import EngineDead, EngineStartFailed
from worker.engines.fake import FakeEngine
from worker.engines.lasting import MOST_REBUILDS, LastingEngine


@pytest.fixture
def made() -> list[FakeEngine]:
    return []


@pytest.fixture
def lasting(made):
    """Makes engines that last, of fakes with a rule."""

    def make(rule, **more) -> LastingEngine:
        def one(options: EngineOptions) -> FakeEngine:
            made.append(FakeEngine(options, rule))
            return made[-1]

        return LastingEngine(one, EngineOptions("m"), **more)

    return make


def killer(look, red: int):
    """A rule that dies of one picture."""

    def rule(question: Question) -> str:
        if question.image.getpixel((3, 3))[0] == red:
            raise EngineDead("illegal memory access")
        return look(question)

    return rule


def test_a_row_that_kills_the_engine_is_set_apart_after_two_deaths(
    shard, lasting, made, look, picture
):
    shard.put([picture(red) for red in range(60)])
    marker = shard.work(lasting(killer(look, 37)))
    rows = shard.rows()
    assert (rows[37].error.code, rows[37].error.stage) == ("engine_killed", "ask")
    assert [row.output["red"] for row in rows if row.output] == [n for n in range(60) if n != 37]
    assert marker.errors == 1
    assert len(made) == 3  # two deaths, and the one that is left


def test_two_killers_are_both_found(shard, lasting, look, picture):
    def rule(question: Question) -> str:
        return killer(killer_free, 5)(question)

    killer_free = killer(look, 9)
    shard.put([picture(red) for red in range(20)])
    shard.work(lasting(rule))
    codes = {n: row.error.code for n, row in enumerate(shard.rows()) if row.error}
    assert codes == {5: "engine_killed", 9: "engine_killed"}


def test_an_engine_that_dies_of_everything_is_not_rebuilt_for_ever(shard, lasting, made, picture):
    def rule(question: Question) -> str:
        raise EngineDead("no driver")

    shard.put([picture(red) for red in range(40)])
    with pytest.raises(EngineDead, match=rf"died {MOST_REBUILDS + 1} times: no driver"):
        shard.work(lasting(rule))
    assert len(made) == MOST_REBUILDS + 1
    assert not [key for key in shard.written() if "/rows/" in key or "/shards/" in key]


def test_one_death_costs_nobody_an_answer(shard, lasting, made, look, picture):
    def rule(question: Question) -> str:
        if len(made) == 1 and question.image.getpixel((3, 3))[0] == 4:
            raise EngineDead("a hiccup")
        return look(question)

    shard.put([picture(red) for red in range(9)])
    assert shard.work(lasting(rule)).errors == 0
    assert len(made) == 2


def test_an_engine_that_is_past_saving_fails_its_health_check(lasting, picture):
    async def run() -> None:
        engine = lasting(lambda question: "{}", most_rebuilds=0)
        with pytest.raises(EngineDead):
            await engine.check()
        await engine.start()
        await engine.check()
        engine.stop()
        with pytest.raises(EngineDead):
            await engine.check()

    asyncio.run(run())


class Starting(FakeEngine):
    """Starts when it is asked to take few questions at a time."""

    tried: list[dict]
    fits = 16
    says = "ValueError: No available memory for the cache blocks"

    async def start(self) -> None:
        self.tried.append(dict(self._options.settings))
        if self._options.settings["max_num_seqs"] > self.fits:
            raise EngineStartFailed(self.says)
        await super().start()

    def __init__(self, options: EngineOptions) -> None:
        super().__init__(options)
        self._options = options


def start(fits: int, says: str = Starting.says) -> list[dict]:
    tried: list[dict] = []
    kind = type("Kind", (Starting,), {"tried": tried, "fits": fits, "says": says})
    engine = LastingEngine(kind, EngineOptions("m", {"max_num_seqs": 32, "max_model_len": 4096}))
    try:
        asyncio.run(engine.start())
    except EngineStartFailed as error:
        error.tried = tried
        raise
    return tried


def test_a_start_without_memory_is_tried_once_more_with_less():
    settings = start(fits=16)
    assert [each["max_num_seqs"] for each in settings] == [32, 16]
    assert {each["max_model_len"] for each in settings} == {4096}


def test_a_start_that_never_has_the_memory_fails_and_names_the_settings():
    with pytest.raises(EngineStartFailed, match=r"image\.max_pixels or image\.tokens") as caught:
        start(fits=1)
    assert len(caught.value.tried) == 2


def test_a_start_that_fails_of_something_else_is_not_tried_again():
    with pytest.raises(EngineStartFailed, match="No module named") as caught:
        start(fits=1, says="ImportError: No module named 'flash_attn'")
    assert len(caught.value.tried) == 1
