"""A job's progress as server-sent events.

Each event shows the job as it is, so that one that was missed is no loss; its id says what it
showed, so that a listener who comes back with it hears only of what is new.
"""

import asyncio
import json
from collections.abc import AsyncIterator

from fastapi.concurrency import run_in_threadpool

from jobs.api.shelf import Shelf
from jobs.record import Record

RETRY_MS = 2000
QUIET_S = 15.0  # after which a comment keeps proxies from closing the connection


async def events_of(
    shelf: Shelf, job_id: str, poll_s: float, last: str | None
) -> AsyncIterator[str]:
    """Events until the job has ended; the record is read by the shelf, once for all listeners."""
    yield f"retry: {RETRY_MS}\n\n"
    quiet_s = 0.0
    while True:
        record = await run_in_threadpool(shelf.watched, job_id)
        now = event_id(record)
        if now != last:
            yield _event(record, last)
            last, quiet_s = now, 0.0
        elif quiet_s >= QUIET_S:
            yield ": still here\n\n"
            quiet_s = 0.0
        if record.state.ended:
            return
        await asyncio.sleep(poll_s)
        quiet_s += poll_s


def event_id(record: Record) -> str:
    """What an event about `record` shows, in short."""
    counts = record.counts
    setbacks = len(record.setbacks)
    return f"{record.state.value}.{counts.done}.{counts.errors}.{counts.total}.{setbacks}"


def is_over(record: Record, last: str | None) -> bool:
    """Whether there is nothing to hear any more."""
    return record.state.ended and last == event_id(record)


def _event(record: Record, last: str | None) -> str:
    kind = "state" if (last or "").partition(".")[0] != record.state.value else "progress"
    shown = {
        "job_id": record.job_id,
        "state": record.state.value,
        "reason": record.reason,
        "counts": record.counts.model_dump(),
        "cost_usd": None if record.cost_usd is None else str(record.cost_usd),
        "ended": record.state.ended,
    }
    return f"id: {event_id(record)}\nevent: {kind}\ndata: {json.dumps(shown)}\n\n"
