"""What moves batches on: from a file to jobs, and from the jobs' rows to files.

Each look at a batch does the step that it is at; all that it rests on is in the bucket, so that a
batch goes on after a restart, and in whichever process looks first.
"""

import logging
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress

from jobs.addresses import JobPaths
from jobs.api.batch.answers import Answers
from jobs.api.batch.faults import after_fault
from jobs.api.batch.file_record import content_of, load_file
from jobs.api.batch.hands import Hands
from jobs.api.batch.intake import Intake
from jobs.api.batch.lines import errors_of, requests_of
from jobs.api.batch.pictures import Fetch, Pictures
from jobs.api.batch.record import (
    Batch,
    BatchError,
    BatchPaths,
    Group,
    Status,
    batch_document,
    open_root,
)
from jobs.api.batch.results import Results
from jobs.control.cancelling import request_cancel
from jobs.errors import AccessDenied, NotFound, TemporaryError, Unreadable, ZeroshiftError
from jobs.manifest.manifest import job_id, parse_manifest
from jobs.record import Record, RecordFile
from jobs.settings.settings import Settings
from jobs.store.bucket import Store
from jobs.submit.submission import resolved, submit
from jobs.versions import PassedOver

log = logging.getLogger("zeroshift")
LABEL = "batch"  # of a batch's jobs


class Ending(TemporaryError):
    """The process is to end in the middle of a step."""


class BatchWork:
    """Moves the batches of one bucket on. When `stop` is set, a long step is broken off."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        fetch: Fetch | None = None,
        clock: Callable[[], float] = time.time,
        stop: threading.Event | None = None,
        patience_s: float | None = None,
    ) -> None:
        self._store, self._settings, self._clock = store, settings, clock
        self._stop = stop or threading.Event()
        self._bucket = settings.bucket
        self._fetch = fetch or _fetcher(settings)
        self._hands, self._passed_over = Hands(patience_s), PassedOver()

    def round(self) -> None:
        """Look at every batch that has not ended, several at a time; what takes longer than
        `patience_s` is left in hand, and others are looked at in the next round."""
        for found in list(self._store.list(open_root(self._bucket))):
            self._hands.take(found.address.name, self._look)
        self._hands.wait()

    def close(self) -> None:
        """Wait for what is in hand; `stop` breaks it off."""
        self._hands.close()

    def _look(self, batch_id: str) -> None:
        """One batch must not keep the others waiting, whatever is wrong with it."""
        try:
            self.advance(batch_id)
        except (TemporaryError, AccessDenied) as error:
            log.warning("%s: will look again: %s", batch_id, error)
        except Unreadable as error:
            self._passed_over.tell(batch_id, error)
        except Exception as error:
            log.exception("%s: a step failed", batch_id)
            with suppress(ZeroshiftError):  # then its next look finds the same fault
                self._note(batch_id, error)

    def _note(self, batch_id: str, error: Exception) -> None:
        """Wait longer, or give it up and end its jobs: nobody will fetch what they cost."""
        document = batch_document(self._store, self._bucket, batch_id)
        batch = document.change(lambda old: after_fault(old, error, self._clock()))
        if batch.ended:
            for group in batch.groups:
                if group.job_id is not None:
                    request_cancel(self._store, self._bucket, group.job_id, self._clock())
            self._store.delete(BatchPaths(self._bucket, batch_id).open)

    def advance(self, batch_id: str) -> Batch | None:
        """Do the step that the batch is at; None when there is no such batch."""
        try:
            batch = batch_document(self._store, self._bucket, batch_id).load()
        except NotFound:
            return None  # its record is on its way
        if self._clock() < batch.not_before and not batch.cancel_requested:
            return batch
        if batch.status == "validating":
            batch = self._take_in(batch)
        if batch.status in ("in_progress", "cancelling"):
            batch = self._watch(self._submit(batch))
        if batch.status == "finalizing":
            batch = self._finish(batch)
        if batch.faults:
            batch = self._change(batch, lambda old: old.model_copy(update={"faults": 0}))
        if batch.ended:
            self._store.delete(BatchPaths(self._bucket, batch_id).open)
        return batch

    def _take_in(self, batch: Batch) -> Batch:
        if batch.cancel_requested:
            return self._change(batch, lambda old: old.moved("cancelled", self._clock()))
        file, limits = content_of(self._bucket, batch.input_file_id), self._settings.api
        try:
            load_file(self._store, self._bucket, batch.input_file_id)
            total, errors = errors_of(self._store, file, limits.max_line_bytes, limits.max_requests)
        except NotFound as error:
            total, errors = 0, [BatchError(code="invalid_input_file", message=str(error))]
        if errors:
            return self._change(
                batch,
                lambda old: old.moved("failed", self._clock()).model_copy(
                    update={"errors": tuple(errors)}
                ),
            )
        found = self._intake(batch, total)
        return self._change(batch, lambda old: self._begun(old, found))

    def _intake(self, batch: Batch, total: int) -> dict[str, object]:
        """Write indexes, manifests and refused lines; answers what the record is to say."""
        settings, paths = self._settings, BatchPaths(self._bucket, batch.id)
        intake = Intake(
            self._store,
            paths,
            uuid.uuid4().hex[:12],
            settings.api.models,
            Pictures(self._store, paths, self._fetch, settings.pictures.max_bytes),
            Answers(batch.id, int(self._clock())),
        )
        file = content_of(self._bucket, batch.input_file_id)
        with intake:
            for request in requests_of(self._store, file, settings.api.max_line_bytes):
                self._go_on()
                intake.take(request)
            groups = intake.write(settings.api.offer, {LABEL: batch.id})
        return {
            "intake": intake.name,
            "groups": groups,
            "total": total,
            "refused": intake.refused,
            "failed": intake.refused,
        }

    def _begun(self, old: Batch, found: dict[str, object]) -> Batch:
        if old.intake or old.status not in ("validating", "cancelling"):
            return old
        moved = old.moved("cancelling" if old.cancel_requested else "in_progress", self._clock())
        return moved.model_copy(update=found)

    def _submit(self, batch: Batch) -> Batch:
        """Make a job of each group that has none yet; if it is to end, find those that have one."""
        ends = batch.cancel_requested or batch.expired
        for group in batch.groups:
            if group.job_id is None and not group.problem:
                found = self._found(batch, group) if ends else self._submitted(batch, group)
                batch = self._change(batch, _with_group(found))
        return batch

    def _found(self, batch: Batch, group: Group) -> Group:
        """With its job, when a process ended between making it and telling of it."""

        place = BatchPaths(self._bucket, batch.id).manifest(batch.intake, group.number)
        made = job_id(resolved(parse_manifest(self._store.read(place), "request")))
        with suppress(NotFound):
            return group.model_copy(update={"job_id": self._load(made).job_id})
        return group

    def _submitted(self, batch: Batch, group: Group) -> Group:

        place = BatchPaths(self._bucket, batch.id).manifest(batch.intake, group.number)
        try:
            manifest = parse_manifest(self._store.read(place), "request")
            record = submit(self._store, self._settings, manifest).record
            return group.model_copy(update={"job_id": record.job_id})
        except TemporaryError:
            raise
        except ZeroshiftError as error:
            return group.model_copy(update={"problem": str(error)})

    def _watch(self, batch: Batch) -> Batch:
        now = self._clock()
        records = {
            each.number: self._load(each.job_id) for each in batch.groups if each.job_id is not None
        }
        all_ended = all(record.state.ended for record in records.values())
        expired = batch.expired or (now >= batch.at["expires"] and not all_ended)
        if batch.cancel_requested or expired:
            for record in records.values():
                if not record.state.ended:
                    request_cancel(self._store, self._bucket, record.job_id, now)
        return self._change(batch, lambda old: _seen(old, records, expired, all_ended, now))

    def _finish(self, batch: Batch) -> Batch:
        created = batch.at["finalizing"]
        found = Results(self._store, self._bucket, batch, created, self._go_on).write()
        values = {name: getattr(found, name) for name in found.__slots__}
        ended: Status = "expired" if batch.expired else "completed"
        if batch.cancel_requested:
            ended = "cancelled"
        return self._change(
            batch, lambda old: old.moved(ended, self._clock()).model_copy(update=values)
        )

    def _go_on(self) -> None:
        """`Ending` when the process is to end: whoever looks next begins the step anew."""
        if self._stop.is_set():
            raise Ending("the server ends")

    def _load(self, job_id: str) -> Record:
        return RecordFile(self._store, JobPaths.of(self._bucket, job_id)).load()

    def _change(self, batch: Batch, change: Callable[[Batch], Batch]) -> Batch:
        return batch_document(self._store, self._bucket, batch.id).change(change)


def _with_group(group: Group) -> Callable[[Batch], Batch]:
    def change(old: Batch) -> Batch:
        groups = tuple(
            group if each.number == group.number and each.job_id is None else each
            for each in old.groups
        )
        return old.model_copy(update={"groups": groups})

    return change


def _seen(
    old: Batch, records: dict[int, Record], expired: bool, all_ended: bool, now: float
) -> Batch:
    """The batch with its jobs' progress; on to finalizing when all of them have ended."""
    if old.status not in ("in_progress", "cancelling"):
        return old
    done = sum(record.counts.done for record in records.values())
    errors = sum(record.counts.errors for record in records.values())
    groups = tuple(_told(group, records.get(group.number)) for group in old.groups)
    counted = old.model_copy(
        update={
            "expired": expired,
            "completed": done - errors,
            "failed": old.refused + errors,
            "groups": groups,
        }
    )
    return counted.moved("finalizing", now) if all_ended else counted


def _told(group: Group, record: Record | None) -> Group:
    """The group with the reason of a job that did not come to its end."""
    if record is None or not record.state.ended or record.state.succeeded:
        return group
    return group.model_copy(update={"problem": record.reason or record.state.value})


def _fetcher(settings: Settings) -> Fetch:
    """Fetching as the settings allow it; made when it is needed, since it is slow to import."""

    def fetch(picture: object) -> bytes:
        from jobs.api.batch.fetch import Fetcher
        from jobs.api.image_parts import Remote

        assert isinstance(picture, Remote)
        api = settings.api
        hosts = tuple(host.lower() for host in api.image_hosts)
        return Fetcher(hosts, settings.pictures.max_bytes, api.image_s).fetch(picture)

    return fetch
