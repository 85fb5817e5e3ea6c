"""One shard, from pinned inputs to committed rows: fetch, decode, ask, check, write.

Every input of the shard ends in exactly one row, or one for each frame. What goes wrong with one
picture is that row's error; what goes wrong with the machinery (a dead engine, a store that does
not answer for the rows) is raised, and the shard is handed out again as a whole.

A shard that has killed two replicas is worked carefully: one input after the other, each noted in
the bucket before it is touched. The one that was in hand when the third replica died is that row's
error from then on.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from jobs.addresses import JobPaths
from jobs.commit import commit, make_commit
from jobs.errors import NotFound, ZeroshiftError
from jobs.order import InHand, Marker, Order, PinnedInput
from jobs.rows import Row
from jobs.thumbs import pack
from worker.grammar_check import Comparison
from worker.inputs import InputRun, Tools

FIRST = 0  # the shard that the grammar is sampled on


@dataclass(frozen=True, slots=True)
class ShardRun:
    """One attempt at one shard; `careful` when it has killed replicas before."""

    tools: Tools
    order: Order
    paths: JobPaths
    shard: int
    epoch: int
    attempt: int
    careful: bool = False
    comparison: Comparison = field(default_factory=Comparison)

    async def run(self) -> Marker:
        """Make the rows, write them, then the marker; answers the marker."""
        settled = await self.tools.in_thread(self._settled)
        if settled is not None:
            return settled
        began = time.time()
        inputs = await self.tools.in_thread(self._read_inputs)
        runs = [self._input(index, each) for index, each in enumerate(inputs)]
        if self.careful:
            made = await self._one_by_one(runs)
        else:
            made = await asyncio.gather(*(run.rows() for run in runs))
        rows = [row for of_input in made for row in of_input]
        thumbs = [
            run.thumbs.get(row.frame, ())
            for run, of_input in zip(runs, made, strict=True)
            for row in of_input
        ]
        return await self.tools.in_thread(self._commit, rows, thumbs, began)

    async def _one_by_one(self, runs: Sequence[InputRun]) -> list[list[Row]]:
        killer = await self.tools.in_thread(self._in_hand)
        made = []
        for index, run in enumerate(runs):
            if index == killer:
                made.append([run.killed()])
                continue
            await self.tools.in_thread(self._take, index)
            made.append(await run.rows())
        return made

    def _in_hand(self) -> int | None:
        """The input that an attempt of this claim died of; an older claim was ended otherwise."""
        try:
            body = self.tools.store.read(self.paths.in_hand_of(self.shard))
        except NotFound:
            return None
        noted = InHand.model_validate_json(body)
        return noted.index if noted.epoch == self.epoch else None

    def _take(self, index: int) -> None:
        noted = InHand(epoch=self.epoch, index=index)
        self.tools.store.write(self.paths.in_hand_of(self.shard), noted.model_dump_json().encode())

    def _read_inputs(self) -> list[PinnedInput]:
        text = self.tools.store.read(self.paths.inputs_of(self.shard)).decode()
        return [PinnedInput.model_validate_json(line) for line in text.split("\n") if line]

    def _input(self, index: int, pinned: PinnedInput) -> InputRun:
        sampled = self.shard == FIRST and index < self.order.grammar_check
        return InputRun(
            tools=self.tools,
            order=self.order,
            pinned=pinned,
            place=f"{self.order.job_id}/{self.shard}/{index}",
            turn=f"{self.epoch}.{self.attempt}",
            attempt=self.attempt,
            comparison=self.comparison if sampled else None,
        )

    def _commit(
        self, rows: Sequence[Row], thumbs: Sequence[Sequence[bytes]], began: float
    ) -> Marker:
        body, marker = make_commit(self.paths, rows, self.shard, self.epoch, self.attempt, began)
        more = {"grammar_check": self.comparison.result(), "thumbs": self._keep(pack(thumbs))}
        marker = marker.model_copy(update=more)
        keep = commit if self.tools.spool is None else self.tools.spool.commit
        return keep(self.tools.store, self.paths, body, marker)

    def _keep(self, thumbs: bytes) -> str:
        """Write the small pictures; the name of their file, empty when it could not be written:
        rows are not lost for want of pictures."""
        address = self.paths.thumbs_of_attempt(self.shard, self.epoch, self.attempt)
        if not thumbs:
            return ""
        try:
            self.tools.store.write(address, thumbs, "application/zip")
        except ZeroshiftError:
            return ""
        return address.name

    def _settled(self) -> Marker | None:
        """The marker of rows that an earlier attempt here could not write: they are paid for."""
        if self.tools.spool is None:
            return None
        return self.tools.spool.settled(self.tools.store, self.paths, self.shard)


__all__ = ["ShardRun", "Tools"]
