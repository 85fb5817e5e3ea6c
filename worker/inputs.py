"""One input becomes its rows: fetch, decode, ask, check. What goes wrong is a row's error."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from jobs.order import Order, PinnedInput, PinnedObject
from jobs.rows import Row, RowError
from jobs.spool import Spool
from jobs.store.bucket import Store
from jobs.thumbs import SIDES, side_for
from worker.asking import Asker, Outcome, Tries
from worker.busy import Busy
from worker.engines.base import Engine
from worker.errors import PictureError, WorkerError
from worker.families import Family
from worker.fetch import fetch
from worker.grammar_check import Comparison
from worker.pictures import Decoders, Limits, Prepared, Selection, Unprepared, prepare_all
from worker.thumbs import closer_look, small
from worker.timing import Clock

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Tools:
    """What a replica keeps for all its shards.

    slots      bounds the inputs in flight
    decoders   processes that decode; without them it is done here, where a crash is everybody's
    spool      keeps rows that the store does not take; without it they are lost with the attempt
    loading_at   and `ready_at`: when the replica began to load its engine, and had it
    committing   held while rows and marker are written: a replica that dies leaves at most one
                 shard that was worked to the end and does not count
    """

    store: Store
    engine: Engine
    family: Family
    limits: Limits
    threads: ThreadPoolExecutor
    slots: asyncio.Semaphore | None = None
    decoders: Decoders | None = None
    spool: Spool | None = None
    loading_at: float | None = None
    ready_at: float | None = None
    committing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def in_thread(self, call: Callable[..., T], *arguments: object) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.threads, call, *arguments)


@dataclass(frozen=True, slots=True)
class InputRun:
    """The work on one input; `place` is its own in all jobs, `turn` that of this attempt at it."""

    tools: Tools
    order: Order
    pinned: PinnedInput
    place: str
    turn: str
    attempt: int
    comparison: Comparison | None = None
    busy: Busy = field(default_factory=Busy)
    thumbs: dict[int, list[bytes]] = field(default_factory=dict)  # of its rows, by their frame

    async def rows(self) -> list[Row]:
        """One row, or one for each frame; never none, and never an exception of a picture's."""
        if self.tools.slots is None:
            return await self._rows()
        async with self.tools.slots:
            return await self._rows()

    def killed(self) -> Row:
        """The row of an input that a worker died of while it was the only one in hand."""
        message = "the worker died while it had this input alone, after two deaths of its shard"
        error = WorkerError("worker_killed", "work", message, retryable=True)
        return self._failed(error, Clock(), [], Tries())

    async def _rows(self) -> list[Row]:
        clock = Clock()
        try:
            frames = await self._frames(clock)
        except WorkerError as error:
            return [self._failed(error, clock, [], Tries())]
        return await asyncio.gather(*(self._row(frame, clock) for frame in frames))

    async def _frames(self, clock: Clock) -> list[list[Prepared] | Unprepared]:
        """The pictures of each row: frames of one file, or all the pictures of a group at once."""
        fault = self.pinned.fault
        if fault is not None:
            raise WorkerError(fault.code, "pin", fault.message)
        found: list[Prepared | Unprepared] = []
        for each in self.pinned.objects:
            found += await self.tools.in_thread(self._fetched, each, clock)
        if not self._is_together:
            return [each if isinstance(each, Unprepared) else [each] for each in found]
        return [_all_of(found, self.order.max_pictures)]

    @property
    def _is_together(self) -> bool:
        """Whether all that was found stands in one prompt."""
        return self.order.together or self.pinned.group is not None or bool(self.pinned.others)

    def _fetched(self, each: PinnedObject, clock: Clock) -> Sequence[Prepared | Unprepared]:
        """Fetch and decode in one go, so that no more files wait in memory than there are
        threads."""
        data = fetch(self.tools.store, each)
        clock.lap("fetch_s")
        family = self.tools.family.narrowed(self.order.image_tokens)
        frames = self._decoded(data, family, Selection(self.order.frames, self.order.video))
        if self.order.thumbs:
            self._keep_small(data, frames)
        clock.lap("decode_s")
        return frames

    def _keep_small(self, data: bytes, frames: Sequence[Prepared | Unprepared]) -> None:
        """Frames of a file share what one picture may take."""
        side = side_for(len(frames), SIDES.get(self.order.thumbs_side, 0))
        for each in frames:
            if isinstance(each, Prepared):
                row = 0 if self._is_together else each.frame
                look = self._closer(data, each, side) if len(frames) == 1 else each
                self.thumbs.setdefault(row, []).append(small(look, side))

    def _closer(self, data: bytes, seen: Prepared, side: int) -> Prepared:
        """The same picture larger than the model sees it, where people want it so."""
        wanted = closer_look(seen, side)
        if wanted is not None:
            with suppress(PictureError):  # what the model saw will do
                [found] = self._decoded(data, wanted, Selection())
                if isinstance(found, Prepared):
                    return found
        return seen

    def _decoded(
        self, data: bytes, family: Family, selection: Selection
    ) -> Sequence[Prepared | Unprepared]:
        wanted = family, self.tools.limits, selection
        if self.tools.decoders is not None:
            return self.tools.decoders.prepare(data, *wanted)
        return _decoded_here(data, *wanted)

    async def _row(self, frame: list[Prepared] | Unprepared, clock: Clock) -> Row:
        tries = Tries()
        if isinstance(frame, Unprepared):
            return self._failed(frame.error, clock, [], tries, frame=frame.frame)
        try:
            asker = Asker(self.tools.engine, self.tools.family, self.order, self.busy)
            name = f"{self.place}.{frame[0].frame}/{self.turn}"
            outcome = await asker.ask(name, frame, self.pinned.fields, tries)
            if self.comparison is not None:
                question = asker.question(name, frame, self.pinned.fields)
                await self.comparison.compare(asker, question, tries.answers[-1].text)
        except WorkerError as error:
            return self._failed(error, clock, frame, tries)
        return self._answered(outcome, clock, frame, tries)

    def _answered(self, outcome: Outcome, clock: Clock, frame: list[Prepared], tries: Tries) -> Row:
        return self._make(
            clock,
            frame,
            tries,
            status="ok",
            output=outcome.output,
            boxes=outcome.boxes,
            confidence=outcome.confidence,
        )

    def _failed(
        self,
        error: WorkerError,
        clock: Clock,
        frame: list[Prepared],
        tries: Tries,
        **more: Any,
    ) -> Row:
        said = RowError(
            code=error.code,
            stage=error.stage,
            message=str(error),
            retryable=error.retryable,
            detail=error.detail,
            raw=error.raw,
        )
        return self._make(clock, frame, tries, status="error", error=said, **more)

    def _make(self, clock: Clock, frame: list[Prepared], tries: Tries, **result: Any) -> Row:
        pinned, facts = self.pinned, [each.facts for each in frame]
        alone = not self._is_together
        values: dict[str, Any] = {
            "key": pinned.address,
            "version": pinned.etag,
            "frame": frame[0].frame if frame and alone else 0,
            "time_s": frame[0].time_s if frame and alone else None,
            "group": pinned.group,
            "keys": () if alone else tuple(each.address for each in pinned.objects),
            "fields": pinned.fields,
            "warnings": tuple(dict.fromkeys(note for each in frame for note in each.warnings)),
            "image": facts[0] if facts else None,
            "images": () if alone else facts,
            "usage": tries.usage(),
            "timing": clock.timing(
                generate_s=sum(each.generate_s for each in tries.answers),
                queue_s=sum(each.queue_s for each in tries.answers),
            ),
            "attempt": self.attempt,
        }
        return Row(**{**values, **result})


def _all_of(found: Sequence[Prepared | Unprepared], most: int) -> list[Prepared]:
    """All the pictures of one prompt, or the error of the one that is missing."""
    if len(found) > most:
        message = f"{len(found)} pictures in one prompt; allowed: up to {most}"
        raise WorkerError("group_too_large", "decode", message)
    for each in found:
        if isinstance(each, Unprepared):
            raise each.error
    return [each for each in found if isinstance(each, Prepared)]


def _decoded_here(data: bytes, *wanted: Any) -> list[Prepared | Unprepared]:
    return list(prepare_all(data, *wanted))
