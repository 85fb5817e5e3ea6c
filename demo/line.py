"""The factory line of the demo: an embedded store, a controller of its own, one batch of pictures.

Nothing here is special to the demo: the controller is `zeroshift watch` with settings from its
environment, and everything is learned from the bucket, as any user would.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demo.batch import Shot
from demo.store import embedded_store
from jobs.addresses import Address, JobPaths
from jobs.cli.progress import JobProgress
from jobs.closing.results import rows_of
from jobs.queue import all_jobs
from jobs.record import Record, RecordFile
from jobs.store.bucket import Store

BUCKET, LINE, MODEL = "factory", "line-4", "zeroshift/parts-inspector"
INBOX = Address(BUCKET, f"inbox/{LINE}/")
RESULTS = Address(BUCKET, f"results/{LINE}/")
NOTICE_S, GONE_S, STOP_S = 30.0, 90.0, 60.0


class LineStopped(Exception):
    """The demo could not go on; the text says why."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the batch came to: the job's record, its rows by file name, its final receipt."""

    record: Record
    rows: dict[str, dict[str, Any]]
    receipt: dict[str, Any]
    gone_after_s: float


def work_batch(shots: Sequence[Shot], progress: JobProgress, log: Path) -> Outcome:
    """Put `shots` in the inbox, close the batch, follow the job until its cluster is gone."""
    with embedded_store(BUCKET) as store, _controller(store, log) as controller:
        for shot in shots:
            store.write(INBOX / shot.name, shot.body, shot.media_type)
        store.write(INBOX / "_SUCCESS", b"")
        file = _noticed(store, controller)
        record = progress.follow(file.load, lambda: controller.poll() is not None)
        if not record.state.ended:
            raise LineStopped(f"the controller ended early; see {log}")
        receipt = _final_receipt(store, controller)
        gone = receipt["teardown"]["gone_at"] - record.entered[record.state.value]
        return Outcome(file.load(), _rows(store), receipt, gone)


@contextmanager
def _controller(store: Store, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    settings = {
        "ZEROSHIFT_BUCKET": BUCKET,
        "ZEROSHIFT_ENDPOINT_URL": str(store.options.endpoint_url),
        "ZEROSHIFT_INBOX__PREFIX": "inbox/",
        "ZEROSHIFT_INBOX__MODEL": MODEL,
        "ZEROSHIFT_IDLE_WINDOW_S": "2",
        "ZEROSHIFT_POLL_S": "0.5",
    }
    command = [sys.executable, "-m", "jobs.cli", "watch"]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            env={**os.environ, **settings},
            stdout=out,
            stderr=out,
            start_new_session=True,  # Ctrl-C reaches us alone, and we end it in order
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _noticed(store: Store, controller: subprocess.Popen[bytes]) -> RecordFile:
    def job() -> RecordFile | None:
        found = next(all_jobs(store, BUCKET), None)
        if found is None:
            return None
        paths = JobPaths.of(BUCKET, found)
        return RecordFile(store, paths) if store.exists(paths.record) else None

    return _await(job, NOTICE_S, controller, "the controller did not notice the batch")


def _final_receipt(store: Store, controller: subprocess.Popen[bytes]) -> dict[str, Any]:
    def final() -> dict[str, Any] | None:
        receipt: dict[str, Any] = json.loads(store.read(RESULTS / "receipt.json"))
        return receipt if receipt["teardown"]["gone_at"] is not None else None

    return _await(final, GONE_S, controller, "the cluster did not go down")


def _await(
    look: Callable[[], Any], seconds: float, controller: subprocess.Popen[bytes], problem: str
) -> Any:
    deadline = time.monotonic() + seconds
    while (found := look()) is None:
        if controller.poll() is not None or time.monotonic() > deadline:
            raise LineStopped(problem)
        time.sleep(0.2)
    return found


def _rows(store: Store) -> dict[str, dict[str, Any]]:
    rows = [json.loads(line) for line in rows_of(store, RESULTS)]
    return {row["key"].rpartition("/")[2]: row for row in rows}
