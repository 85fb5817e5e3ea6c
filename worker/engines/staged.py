"""The fake engine on a stage, for tests of faults: `--engine fake:FOLDER`.

It takes its time over each question, notes in the folder what it was asked, answers nothing while
there is a file `hold`, and dies as often as somebody puts a file `die` there.
"""

import asyncio
import os
from pathlib import Path

from worker.engines.base import Answer, EngineOptions, Question
from worker.engines.errors import EngineDead
from worker.engines.fake import FakeEngine

PAUSE_S = 0.25  # for each question; those that are asked together wait together
DIE, HOLD, ASKED = "die", "hold", "asked-"


class StagedEngine(FakeEngine):
    """See `worker.engines.base.Engine`."""

    def __init__(self, options: EngineOptions, folder: Path) -> None:
        super().__init__(options)
        self._folder = folder

    async def ask(self, question: Question) -> Answer:
        await self.check()
        with (self._folder / f"{ASKED}{os.getpid()}").open("a") as notes:
            notes.write(f"{question.request_id}\n")
        await asyncio.sleep(PAUSE_S)
        while (self._folder / HOLD).exists():
            await asyncio.sleep(PAUSE_S)
        self._die_if_told()
        return await super().ask(question)

    def _die_if_told(self) -> None:
        try:
            (self._folder / DIE).unlink()
        except FileNotFoundError:
            return
        self._running = False
        raise EngineDead("it was told to die")
