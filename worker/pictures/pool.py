"""A few decoder processes that a replica keeps: a crash or a hang costs one picture, nobody else.

`Decoders.prepare` is what a shard calls for each file, from as many threads as it likes.
"""

import os
import queue
import signal
import threading

from worker.errors import PictureError
from worker.families import Family
from worker.pictures.bounds import Job, Limits, Selection
from worker.pictures.budget import Budget, Share
from worker.pictures.decoder import Decoder, Died, TimedOut, Work
from worker.pictures.frames import Frame, Unprepared

DEATHS = 2  # of decoders that one file may cost: the first may have been another's fault
MEMORY_MIB = 3072  # address space of one decoder: 200 megapixels with alpha fit
BUDGET_MIB = 512  # of all decoders together, by what pictures say that they will take


class Decoders:
    """`count` processes, each started when it is first needed; `close` ends them."""

    def __init__(
        self,
        count: int | None = None,
        memory_mib: int = MEMORY_MIB,
        budget_mib: float = BUDGET_MIB,
    ) -> None:
        count = count or max(2, min(8, os.cpu_count() or 1))
        self._all = [Decoder(memory_mib) for _ in range(count)]
        self._budget = Budget(budget_mib)
        # Last in, first out: no more processes than are needed at a time.
        self._free: queue.LifoQueue[Decoder] = queue.LifoQueue()
        for decoder in self._all:
            self._free.put(decoder)
        self._turn = threading.Lock()

    @property
    def pids(self) -> list[int]:
        """Of the processes that run."""
        return [decoder.pid for decoder in self._all if decoder.pid is not None]

    def prepare(
        self,
        data: bytes,
        family: Family,
        limits: Limits,
        selection: Selection = Selection(),  # noqa: B008  # frozen
    ) -> list[Frame]:
        """The wanted frames of `data`, at least one; `PictureError` when there is none.

        Of a file whose decoder crashes or hangs on a later frame, the frames before it are kept.
        `ShardFailed` when no decoder can be started.
        """
        with self._turn:  # else who comes back at once passes those who wait
            decoder = self._free.get()
        try:
            return self._prepared(decoder, Job(family, limits, selection), data)
        finally:
            self._free.put(decoder)

    def _prepared(self, decoder: Decoder, job: Job, data: bytes) -> list[Frame]:
        for death in range(1, DEATHS + 1):
            work = Work(job, data)
            try:
                with Share(self._budget) as share:
                    decoder.do(work, share)
                return work.frames
            except TimedOut:
                longest_s = job.limits.decode_s
                message = f"decoding took more than {longest_s:g} s; the decoder was ended"
                return _kept(work, PictureError("decode_timeout", message))
            except Died as died:
                if death == DEATHS:
                    return _kept(work, _crash(died))
        raise AssertionError("unreachable: the last death returns")

    def close(self) -> None:
        """End all processes; idempotent."""
        for decoder in self._all:
            decoder.close()


def _crash(died: Died) -> PictureError:
    """Killed is not crashed: it is what a kernel without memory does."""
    killed = died.signal == signal.SIGKILL
    code = "worker_killed" if killed else "decoder_crashed"
    return PictureError(code, f"{died}, {DEATHS} times with this picture")


def _kept(work: Work, error: PictureError) -> list[Frame]:
    if not work.frames:
        raise error
    return [*work.frames, Unprepared(work.frame, error)]
