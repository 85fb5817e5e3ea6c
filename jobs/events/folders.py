"""A folder, as the bucket lists it now, becomes a job when it is due; every door ends here.

What is done is safe to do twice, at the same time, and by somebody else: the batch is noted in the
folder's memory by compare-and-swap, then submitted under an id that its content gives, then noted
as submitted.
"""

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from jobs.addresses import Address
from jobs.errors import (
    AccessDenied,
    Conflict,
    NotFound,
    StoreUnavailable,
    TemporaryError,
    ZeroshiftError,
)
from jobs.events.batches import Folder, Verdict, batch_id, judge, sorted_into
from jobs.events.manifests import output_for, request
from jobs.events.memory import Batch, Memory, MemoryFile, Settled
from jobs.events.store_clock import StoreClock
from jobs.manifest.manifest import Manifest
from jobs.settings.doors import Rule
from jobs.settings.settings import Settings
from jobs.store.bucket import Found, Store
from jobs.submit.submission import Submitted, submit

log = logging.getLogger("zeroshift")
ATTEMPTS = 10
MARKER_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Look:
    """What a look at a folder came to.

    keys      pictures that are there now
    created   jobs that this look has made
    due_at    when to look again, by the store's clock; None: when something comes
    """

    keys: frozenset[str] = frozenset()
    created: tuple[Submitted, ...] = ()
    due_at: float | None = None


class Folders:
    """Looks at the folders of one bucket. Not safe between threads without a lock."""

    def __init__(
        self, store: Store, settings: Settings, now: Callable[[], float] | None = None
    ) -> None:
        self._store, self._settings = store, settings
        self.rules = settings.all_rules
        self.now = now or StoreClock(store, settings.bucket)
        self.settled = Settled(store, settings.bucket)
        self._waiting: dict[Address, tuple[str, float]] = {}
        self._digest = _digest(settings.model_dump_json())

    def sorted(self, listing: Iterable[Found]) -> dict[Address, Folder]:
        return sorted_into(self.rules, listing)

    def look(self, address: Address, rule: Rule) -> Look:
        """List one folder and take what is due; `TemporaryError`: to be tried again."""
        found = self.sorted(self._store.list(address))
        return self.take(found.get(address, Folder(address, rule)))

    def take(self, folder: Folder) -> Look:
        """Take what is due of a folder that has just been listed."""
        look = Look(frozenset(found.address.key for found in folder.pictures.values()))
        mark = f"{folder.fingerprint}-{self._digest}"
        if self.settled.has(folder.address, mark):
            return look
        seen, due_at = self._waiting.get(folder.address, ("", 0.0))
        if seen == mark and self.now() < due_at:
            return replace(look, due_at=due_at)
        for _ in range(ATTEMPTS):
            try:
                look = self._take(folder, look)
                break
            except Conflict:
                continue  # somebody else has taken of it: look at what is left
        else:
            raise StoreUnavailable(f"{folder.address}: its memory changed {ATTEMPTS} times")
        if look.due_at is None:
            self.settled.add(folder.address, mark)
            self._waiting.pop(folder.address, None)
        else:
            self._waiting[folder.address] = (mark, look.due_at)
        return look

    def _take(self, folder: Folder, look: Look) -> Look:
        file = MemoryFile(self._store, folder.address)
        memory, etag = file.load()
        verdict = judge(folder, memory, self.now())
        if verdict.alarm:
            log.error("alarm: %s: %s", folder.address, verdict.alarm)
        if verdict.why and self._is_result(folder):
            log.error("alarm: %s: results of a job lie here; they start none", folder.address)
            return look
        if verdict.why:
            memory = memory.with_batch(self._batch(folder, memory))
            file.save(memory, etag)
        elif folder.closing and not folder.pictures:
            log.warning("%s: closed without pictures: no job", folder.address)
        created = tuple(self._submit_all(folder, file, verdict))
        return replace(look, created=created, due_at=verdict.due_at)

    def _batch(self, folder: Folder, memory: Memory) -> Batch:
        content = {name: found.etag for name, found in folder.fresh(memory).items()}
        identity, first = batch_id(folder.address, content), not memory.batches
        return Batch(
            id=identity,
            keys=content,
            output=output_for(self._store, folder.address, folder.rule, identity, first),
            taken_at=self.now(),
            closing=folder.closing,
        )

    def _submit_all(
        self, folder: Folder, file: MemoryFile, verdict: Verdict
    ) -> Iterator[Submitted]:
        """Submit what has been noted without a job, by whomever."""
        under = _digest(f"{self._digest} {folder.closing}")
        memory, etag = file.load()
        for batch in memory.batches:
            if batch.job_id or batch.under == under:
                continue
            done, submitted = self._submit(folder, batch, under)
            memory = memory.with_batch(done)
            file.save(memory, etag)
            memory, etag = file.load()
            if submitted is not None and submitted.created:
                why = verdict.why or "taken up where another stopped"
                log.info("%s: %s: job %s", folder.address, why, done.job_id)
                yield submitted

    def _submit(self, folder: Folder, batch: Batch, under: str) -> tuple[Batch, Submitted | None]:
        try:
            submitted = submit(self._store, self._settings, self._request(folder, batch))
        except (TemporaryError, AccessDenied):
            raise  # no fault of the batch: the next look tries again
        except ZeroshiftError as error:
            log.error("%s: no job: %s", folder.address, error)
            return batch.model_copy(update={"refused": str(error), "under": under}), None
        done = {"job_id": submitted.record.job_id, "refused": "", "under": ""}
        return batch.model_copy(update=done), submitted

    def _request(self, folder: Folder, batch: Batch) -> Manifest:
        own = folder.markers.get("manifest.json")
        if own is None or folder.rule.closed_by != "manifest.json":
            return request(folder.address, folder.rule, batch)
        return request(folder.address, folder.rule, batch, self._store.read(own.address))

    def _is_result(self, folder: Folder) -> bool:
        """Whether a job of ours has written it: its `_SUCCESS` or its receipt names the job."""
        witnesses = (folder.markers.get("_SUCCESS"), folder.pictures.get("receipt.json"))
        return any(found is not None and self._names_a_job(found) for found in witnesses)

    def _names_a_job(self, found: Found) -> bool:
        if not found.size:
            return False
        try:
            start = self._store.read_start(found.address, MARKER_BYTES)
        except NotFound:
            return False
        return b'"job_id"' in start


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
