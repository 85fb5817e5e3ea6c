"""The staged engine does as the files of its folder say."""

import asyncio
from pathlib import Path

import pytest
from PIL import Image

from worker.engines import make_engine
from worker.engines.base import Engine, EngineOptions, Question
from worker.engines.errors import EngineDead
from worker.engines.lasting import LastingEngine
from worker.engines.staged import StagedEngine

OPTIONS = EngineOptions("a model")


def question(name: str) -> Question:
    return Question(name, Image.new("RGB", (2, 2)), "which?", {"enum": ["a", "b"]})


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.engines.staged.PAUSE_S", 0.0)


async def asked(engine: Engine, *names: str) -> list[str]:
    await engine.start()
    answers = await asyncio.gather(*(engine.ask(question(name)) for name in names))
    return [answer.text for answer in answers]


def test_it_answers_as_the_fake_and_notes_what_it_was_asked(tmp_path: Path) -> None:
    engine = make_engine(f"fake:{tmp_path}", OPTIONS)
    assert asyncio.run(asked(engine, "job/0/0", "job/0/1")) == ['"a"', '"a"']
    [notes] = tmp_path.iterdir()
    assert notes.read_text() == "job/0/0\njob/0/1\n"


def test_a_file_in_the_folder_is_one_death(tmp_path: Path) -> None:
    (tmp_path / "die").touch()
    with pytest.raises(EngineDead, match="told to die"):
        asyncio.run(asked(StagedEngine(OPTIONS, tmp_path), "job/0/0"))
    assert not (tmp_path / "die").exists()
    assert asyncio.run(asked(StagedEngine(OPTIONS, tmp_path), "job/0/0")) == ['"a"']


def test_whoever_was_with_it_when_it_died_is_asked_again(tmp_path: Path) -> None:
    (tmp_path / "die").touch()
    engine = LastingEngine(lambda options: StagedEngine(options, tmp_path), OPTIONS)
    assert asyncio.run(asked(engine, "a", "b", "c")) == ['"a"'] * 3
