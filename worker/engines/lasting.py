"""An engine that outlives its deaths: rebuilt in place, and a question that kills it set apart.

When an engine dies, every question that was with it is asked again, each alone: so a question that
kills a second engine was the only one with it, and is the culprit. It is refused from then on, and
the others have their answers. Rebuilding has a cap, since an engine that dies of something else
would be rebuilt for ever.
"""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

from worker.engines.base import Answer, Engine, EngineOptions, Question
from worker.engines.errors import EngineDead, EngineKilled, EngineStartFailed

MOST_REBUILDS = 6  # in the life of a replica; beyond it Serve starts another one
FATAL_DEATHS = 2
OUT_OF_MEMORY = re.compile(r"out of memory|no available memory|memory.{0,40}kv cache", re.I)
Make = Callable[[EngineOptions], Engine]


class LastingEngine:
    """See `worker.engines.base.Engine`; `make` makes the engine that does the work."""

    def __init__(
        self, make: Make, options: EngineOptions, most_rebuilds: int = MOST_REBUILDS
    ) -> None:
        self._make, self._options, self._most = make, options, most_rebuilds
        self._engine = make(options)
        self._generation = 0
        self._dead = False
        self._deaths: Counter[str] = Counter()
        self._gate = _Gate()
        self._rebuilding = asyncio.Lock()

    @property
    def context(self) -> int | None:
        return self._engine.context

    def text_tokens(self, prompt: str, pictures: int) -> int:
        return self._engine.text_tokens(prompt, pictures)

    async def start(self) -> None:
        """Load; when memory does not suffice, once more with half the questions at a time."""
        try:
            await self._engine.start()
        except EngineStartFailed as error:
            if not OUT_OF_MEMORY.search(str(error)):
                raise
            await self._start_smaller(error)

    async def _start_smaller(self, first: EngineStartFailed) -> None:
        settings = dict(self._options.settings)
        for name in ("max_num_seqs", "max_num_batched_tokens"):
            if name in settings:
                settings[name] = max(1, int(settings[name]) // 2)
        self._engine.stop()
        self._options = replace(self._options, settings=settings)
        self._engine = self._make(self._options)
        try:
            await self._engine.start()
        except EngineStartFailed as error:
            tried = {name: settings[name] for name in settings if name.startswith("max_num")}
            raise EngineStartFailed(
                f"out of memory at start, with {tried} too: lower image.max_pixels or image.tokens,"
                f" or choose an offer with more memory ({first})"
            ) from error

    async def ask(self, question: Question) -> Answer:
        while True:
            name = question.request_id
            async with self._rebuilding:  # nobody is asked of an engine that is not there
                pass
            with_others = not self._deaths[name]
            async with self._gate.shared() if with_others else self._gate.alone():
                generation = self._generation
                try:
                    answer = await self._engine.ask(question)
                    self._deaths.pop(name, None)
                    return answer
                except EngineDead as death:
                    self._deaths[name] += 1
                    await self._rebuild(generation, death)
            if self._deaths[name] >= FATAL_DEATHS:
                raise EngineKilled(f"the engine died of it {FATAL_DEATHS} times")

    async def _rebuild(self, generation: int, death: EngineDead) -> None:
        """Once a death, whoever comes first; `EngineDead` when the cap is reached."""
        async with self._rebuilding:
            if self._dead:
                raise EngineDead(f"the engine died {self._generation + 1} times: {death}")
            if generation != self._generation:
                return
            if self._generation >= self._most:
                self._dead = True
                raise EngineDead(f"the engine died {self._generation + 1} times: {death}")
            with suppress(Exception):  # what is left of a dead engine may not stop in order
                self._engine.stop()
            self._engine = self._make(self._options)
            try:
                await self._engine.start()
            except EngineStartFailed as error:
                self._dead = True
                raise EngineDead(f"the engine died and did not start again: {error}") from error
            self._generation += 1

    async def check(self) -> None:
        if self._dead:
            raise EngineDead(f"the engine died {self._generation + 1} times")
        if not self._rebuilding.locked() and self._gate.idle:
            await self._engine.check()

    def stop(self) -> None:
        self._engine.stop()


class _Gate:
    """Many at a time, or one alone; whoever wants to be alone goes before those that come later."""

    def __init__(self) -> None:
        self._changed = asyncio.Condition()
        self._inside, self._waiting_alone, self._is_alone = 0, 0, False

    @property
    def idle(self) -> bool:
        return not self._inside

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        async with self._changed:
            await self._changed.wait_for(lambda: not (self._is_alone or self._waiting_alone))
            self._inside += 1
        try:
            yield
        finally:
            await self._leave()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        async with self._changed:
            self._waiting_alone += 1
            try:
                await self._changed.wait_for(lambda: not self._inside)
                self._inside, self._is_alone = 1, True
            finally:
                self._waiting_alone -= 1
        try:
            yield
        finally:
            self._is_alone = False
            await self._leave()

    async def _leave(self) -> None:
        async with self._changed:
            self._inside -= 1
            self._changed.notify_all()
