"""One shard, from pinned inputs to committed rows: fetch, decode, ask, check, write.

Every input of the shard ends in exactly one row. What goes wrong with one picture is that row's
error; what goes wrong with the machinery (a dead engine, a store that does not answer for the
rows) is raised, and the shard is handed out again as a whole.
"""

import asyncio
import hashlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from jobs.addresses import JobPaths
from jobs.bucket import Store
from jobs.errors import ZeroshiftError
from jobs.order import Marker, Order, PinnedInput
from jobs.rows import Row, RowError, Timing, Usage
from worker.boxes import map_boxes
from worker.check import check_answer
from worker.engines.base import Answer, Engine, Question
from worker.engines.errors import QuestionRefused
from worker.errors import WorkerError
from worker.families import Family
from worker.fetch import fetch
from worker.picture import Limits, Prepared, prepare

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Tools:
    """What a replica keeps for all its shards."""

    store: Store
    engine: Engine
    family: Family
    limits: Limits
    threads: ThreadPoolExecutor


@dataclass(frozen=True, slots=True)
class ShardRun:
    """One attempt at one shard."""

    tools: Tools
    order: Order
    paths: JobPaths
    shard: int
    epoch: int
    attempt: int

    async def run(self) -> Marker:
        """Make the rows, write them, then the marker; answers the marker."""
        began = time.time()
        inputs = await self._in_thread(self._read_inputs)
        rows = await asyncio.gather(*(self._row(i, each) for i, each in enumerate(inputs)))
        return await self._in_thread(self._commit, rows, began)

    def _read_inputs(self) -> list[PinnedInput]:
        text = self.tools.store.read(self.paths.inputs_of(self.shard)).decode()
        return [PinnedInput.model_validate_json(line) for line in text.splitlines()]

    async def _row(self, index: int, pinned: PinnedInput) -> Row:
        clock = _Clock()
        prepared: Prepared | None = None
        answer: Answer | None = None
        try:
            data = await self._in_thread(fetch, self.tools.store, pinned)
            clock.lap("fetch_s")
            prepared = await self._in_thread(prepare, data, self.tools.family, self.tools.limits)
            clock.lap("decode_s")
            answer = await self._ask(index, prepared)
            clock.add("generate_s", answer.generate_s)
            clock.add("queue_s", answer.queue_s)
            output = self._check(answer, prepared)
        except (WorkerError, QuestionRefused) as error:
            return self._failed(pinned, _row_error(error), clock, prepared, answer)
        return self._make(pinned, clock, prepared, answer, status="ok", output=output)

    async def _ask(self, index: int, prepared: Prepared) -> Answer:
        order = self.order
        return await self.tools.engine.ask(
            Question(
                request_id=f"{order.job_id}/{self.shard}/{index}/{self.epoch}.{self.attempt}",
                image=prepared.image,
                prompt=order.prompt,
                answer_schema=order.answer_schema,
                temperature=order.sampling.temperature,
                top_p=order.sampling.top_p,
                max_tokens=order.sampling.max_tokens,
                seed=order.sampling.seed,
            )
        )

    def _check(self, answer: Answer, prepared: Prepared) -> object:
        output = check_answer(answer.text, answer.finish_reason, self.order.answer_schema)
        if self.order.box_field is None:
            return output
        return map_boxes(output, self.order.box_field, prepared.facts, self.tools.family)

    def _failed(
        self,
        pinned: PinnedInput,
        error: RowError,
        clock: "_Clock",
        prepared: Prepared | None,
        answer: Answer | None,
    ) -> Row:
        return self._make(pinned, clock, prepared, answer, status="error", error=error)

    def _make(
        self,
        pinned: PinnedInput,
        clock: "_Clock",
        prepared: Prepared | None,
        answer: Answer | None,
        **result: object,
    ) -> Row:
        return Row.model_validate(
            {
                "key": pinned.address,
                "version": pinned.etag,
                "warnings": prepared.warnings if prepared else (),
                "image": prepared.facts if prepared else None,
                "usage": _usage(answer),
                "timing": clock.timing(),
                "attempt": self.attempt,
                **result,
            }
        )

    def _commit(self, rows: Sequence[Row], began: float) -> Marker:
        body = "".join(row.to_line() + "\n" for row in rows).encode()
        marker = Marker(
            shard=self.shard,
            epoch=self.epoch,
            attempt=self.attempt,
            rows=len(rows),
            errors=sum(row.status == "error" for row in rows),
            digest=hashlib.sha256(body).hexdigest(),
            started_at=began,
            ended_at=time.time(),
        )
        self.tools.store.write(self.paths.rows_of(self.shard), body, "application/jsonl")
        self.tools.store.write(self.paths.marker_of(self.shard), marker.model_dump_json().encode())
        return marker

    async def _in_thread(self, call: Callable[..., T], *arguments: object) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.tools.threads, call, *arguments)


class _Clock:
    """Seconds of a row by stage."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._spent: dict[str, float] = {}

    def lap(self, stage: str) -> None:
        now = time.monotonic()
        self.add(stage, now - self._last)
        self._last = now

    def add(self, stage: str, seconds: float) -> None:
        self._spent[stage] = round(seconds, 4)

    def timing(self) -> Timing:
        return Timing(**self._spent)


def _usage(answer: Answer | None) -> Usage | None:
    if answer is None:
        return None
    return Usage(
        prompt_tokens=answer.prompt_tokens,
        image_tokens=answer.image_tokens,
        output_tokens=answer.output_tokens,
    )


def _row_error(error: WorkerError | QuestionRefused | ZeroshiftError) -> RowError:
    if isinstance(error, WorkerError):
        return RowError(
            code=error.code, stage=error.stage, message=str(error), retryable=error.retryable
        )
    return RowError(code="question_refused", stage="ask", message=str(error), retryable=False)
