"""An engine replica: a Ray Serve deployment that holds one engine and works shards.

Serve checks its health and starts another when it is dead. Several shards are worked at once, so
that the engine always has questions waiting.
"""

import asyncio
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from jobs.addresses import Address, JobPaths
from jobs.order import Order
from jobs.spool import Spool
from jobs.store.bucket import Store, StoreOptions
from worker.engines import make_engine
from worker.engines.base import Engine, EngineOptions
from worker.engines.lasting import LastingEngine
from worker.families import load_family
from worker.hands import Hands
from worker.moments import moment
from worker.notice import of_this_node
from worker.pictures import Decoders, Limits
from worker.shard import ShardRun, Tools

THREADS = 8  # fetching waits on the network and decoding releases the interpreter
# Inputs in flight for each question that the engine takes at a time: as many wait, prepared.
AHEAD = 2
SEQUENCES = 32  # that an engine takes at a time, where its settings do not say


SPOOL = Path(tempfile.gettempdir()) / "zeroshift-spool"


class Replica:
    """Deployed by `worker.driver`; all arguments are plain data."""

    async def __init__(  # type: ignore[misc]  # Ray Serve awaits it: ready means loaded
        self, engine: str, model: str, settings: dict[str, Any], cpus: int, store: dict[str, Any]
    ) -> None:
        self._loading_at = moment()
        os.environ["OMP_NUM_THREADS"] = str(cpus)
        self._store = Store(StoreOptions(**store), connections=2 * THREADS)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="shard")
        self._decoders = Decoders(cpus)
        # Credentials that a process was started with may run out: a new client looks again.
        self._spool = Spool(SPOOL, fresh=lambda: Store(StoreOptions(**store)))
        self._committing, self._hands = asyncio.Lock(), Hands()
        self._slots = asyncio.Semaphore(AHEAD * int(settings.get("max_num_seqs", SEQUENCES)))
        self._engine: Engine = LastingEngine(
            lambda options: make_engine(engine, options), EngineOptions(model, settings)
        )
        await self._engine.start()
        self._ready_at = moment()
        self._notice = of_this_node()
        self._watching = asyncio.create_task(self._notice.watch())

    async def check_health(self) -> None:
        """Called by Serve every few seconds; raises when the engine is dead."""
        await self._engine.check()

    async def work(
        self,
        job: str,
        order: dict[str, Any],
        shard: int,
        epoch: int,
        attempt: int,
        careful: bool = False,
    ) -> dict[str, Any]:
        """Work one shard of the job at address `job`; answers its marker.

        `NodeLeaving` when the node is taken away before the shard is done.
        """
        parsed = Order.model_validate(order)
        limits = Limits(**parsed.limits.model_dump())
        family = load_family(Path(parsed.model), parsed.min_pixels, parsed.max_pixels)
        tools = Tools(
            self._store,
            self._engine,
            family,
            limits,
            self._threads,
            self._slots,
            self._decoders,
            self._spool,
            self._loading_at,
            self._ready_at,
            self._committing,
        )
        paths = JobPaths(Address.parse(job))
        run = ShardRun(tools, parsed, paths, shard, epoch, attempt, careful)
        work = self._hands.work((job, shard), run.run)
        return (await self._notice.within(work)).model_dump()

    def __del__(self) -> None:  # Serve's hook for the end of a replica
        self._engine.stop()
        self._decoders.close()
