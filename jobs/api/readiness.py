"""Whether the store answers."""

import asyncio
import contextlib

from fastapi.concurrency import run_in_threadpool

from jobs.errors import ZeroshiftError
from jobs.store.bucket import Store

PATIENCE_S = 2.0


class Readiness:
    """At most one look at the store is in the air, however often and impatiently it is asked."""

    def __init__(self, store: Store, bucket: str) -> None:
        self._store, self._bucket = store, bucket
        self._look: asyncio.Task[None] | None = None

    async def check(self) -> bool:
        if self._look is None or self._look.done():
            self._look = asyncio.create_task(
                run_in_threadpool(self._store.check, self._bucket), name="readiness"
            )
        done, _ = await asyncio.wait({self._look}, timeout=PATIENCE_S)
        if not done:
            return False
        with contextlib.suppress(ZeroshiftError):
            self._look.result()
            return True
        return False
