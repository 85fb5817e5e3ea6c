"""One shard, from pinned inputs to committed rows: fetch, decode, ask, check, write.

Every input of the shard ends in exactly one row, or one for each frame. What goes wrong with one
picture is that row's error; what goes wrong with the machinery (a dead engine, a store that does
not answer for the rows) is raised, and the shard is handed out again as a whole.

A shard that has killed two replicas is worked carefully: one input after the other, each noted in
the bucket before it is touched. The one that was in hand when the third replica died is that row's
error from then on.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from jobs.addresses import JobPaths
from jobs.commit import commit, make_commit
from jobs.errors import NotFound, ZeroshiftError
from jobs.order import InHand, Marker, Order, PinnedInput, Turn
from jobs.rows import Row
from jobs.thumbs import pack
from worker.busy import Busy
from worker.grammar_check import Comparison
from worker.inputs import InputRun, Tools
from worker.moments import moment
from worker.turns import TurnFile, node_name

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
    busy: Busy = field(default_factory=Busy)

    async def run(self) -> Marker:
        """Make the rows, write them, then the marker; answers the marker that counts."""
        settled = await self.tools.in_thread(self._settled)
        if settled is not None:
            return settled
        turn = self._turn(moment())
        await self.tools.in_thread(turn.begin)
        try:
            counted = await self._work(turn.turn.began_at)
        except Exception:
            await self.tools.in_thread(turn.fail, self.busy)
            raise
        if counted.rank == (self.epoch, self.attempt):
            await self.tools.in_thread(turn.count)
        else:
            await self.tools.in_thread(turn.fail, self.busy)
        return counted

    def _turn(self, began_at: float) -> TurnFile:
        turn = Turn(
            shard=self.shard,
            epoch=self.epoch,
            attempt=self.attempt,
            node=node_name(),
            began_at=began_at,
            loading_at=self.tools.loading_at,
            ready_at=self.tools.ready_at,
        )
        return TurnFile(self.tools.store, self.paths, turn)

    async def _work(self, began: float) -> Marker:
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
        async with self.tools.committing:
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
            busy=self.busy,
        )

    def _commit(
        self, rows: Sequence[Row], thumbs: Sequence[Sequence[bytes]], began: float
    ) -> Marker:
        body, marker = make_commit(self.paths, rows, self.shard, self.epoch, self.attempt, began)
        marker = marker.model_copy(
            update={
                "grammar_check": self.comparison.result(),
                "thumbs": self._keep(pack(thumbs)),
                "ended_at": moment(),
                "node": node_name(),
                "busy": self.busy.stretches(),
                "loading_at": self.tools.loading_at,
                "ready_at": self.tools.ready_at,
                "requests": self.tools.store.requests.take(),
            }
        )
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
        """The marker of rows that an earlier attempt made: they are paid for. It may have died, or
        lost its driver, before it could tell; or its rows lie here, since it could not write them.
        """
        if self.epoch > 1 or self.attempt > 1:
            try:
                marker = self.tools.store.read(self.paths.marker_of(self.shard))
                return Marker.model_validate_json(marker)
            except NotFound:
                pass
        if self.tools.spool is None:
            return None
        return self.tools.spool.settled(self.tools.store, self.paths, self.shard)


__all__ = ["ShardRun", "Tools"]
