"""Trigger: a batch in the inbox becomes a job when it is closed.

A batch is a folder under the inbox's prefix, and it is closed by an object `_SUCCESS` in it. The
job's idempotency key is the folder and that object's identity, so a batch seen twice is one job,
and closing the folder anew makes another, with results in a folder of its own.
"""

import hashlib
import re
from collections.abc import Iterator

from jobs.addresses import Address
from jobs.bucket import Found, Store
from jobs.errors import NotFound, TemporaryError, ZeroshiftError
from jobs.manifest import Inputs, Manifest, job_id
from jobs.settings import Settings
from jobs.submission import Submitted, submit

CLOSED = "_SUCCESS"


class Inbox:
    """Watches the inbox of the settings; with no prefix there is nothing to see."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._settings = store, settings
        self._seen: set[tuple[Address, str]] = set()

    def new_jobs(self) -> Iterator[Submitted]:
        """Submit a job for each batch that was closed since the last look.

        `ManifestError` when a batch can't become a job; it is not tried again.
        """
        prefix = self._settings.inbox.prefix
        if prefix is None:
            return
        for folder in self._store.folders(Address(self._settings.bucket, prefix)):
            marker = self._closed(folder)
            if marker is not None:
                yield self._submit(folder, marker)

    def _submit(self, folder: Address, marker: Found) -> Submitted:
        try:
            submitted = submit(self._store, self._settings, self._manifest(folder, marker))
        except TemporaryError:
            raise  # the next look tries again
        except ZeroshiftError:
            self._see(marker)
            raise
        self._see(marker)
        return submitted

    def _see(self, marker: Found) -> None:
        self._seen.add((marker.address, _identity(marker)))

    def _closed(self, folder: Address) -> Found | None:
        try:
            marker = self._store.look(folder / CLOSED)
        except NotFound:
            return None
        return None if (marker.address, _identity(marker)) in self._seen else marker

    def _manifest(self, folder: Address, marker: Found) -> Manifest:
        inbox = self._settings.inbox
        assert inbox.model is not None, "settings refuse an inbox without a model"
        key = f"{folder}@{_identity(marker)}"
        results = f"s3://{self._settings.bucket}/{inbox.results_prefix}{folder.name}"
        manifest = Manifest(
            name=job_name(folder.name),
            inputs=Inputs(prefix=str(folder)),
            output=f"{results}/",
            model=inbox.model,
            task=inbox.task,
            idempotency_key=key,
        )
        if self._is_free(manifest):
            return manifest
        # The folder was closed before: what came out then stays, and this goes beside it.
        suffix = hashlib.sha256(key.encode()).hexdigest()[:6]
        return manifest.model_copy(update={"output": f"{results}-{suffix}/"})

    def _is_free(self, manifest: Manifest) -> bool:
        try:
            owner = self._store.read(Address.parse(manifest.output or "") / "_SUCCESS")
        except NotFound:
            return True
        return job_id(manifest).encode() in owner


def _identity(marker: Found) -> str:
    return f"{marker.etag}@{marker.modified.isoformat()}"


def job_name(folder: str) -> str:
    """A job's name from a folder's: what is not allowed in a name becomes a hyphen."""
    return re.sub(r"[^a-z0-9]+", "-", folder.lower()).strip("-")[:60].strip("-") or "batch"
