"""Notes in the bucket of folders that are not due yet, and when they will be.

An event of such a folder is acknowledged as soon as there is a note: whoever looks later, in this
process or another, finds it there. One small object a folder, gone when the folder is settled.
"""

import hashlib
import json
import logging
from collections.abc import Iterator

from jobs.addresses import Address, inbox_root
from jobs.errors import NotFound, UserError
from jobs.store.bucket import Store

log = logging.getLogger("zeroshift")


class Notes:
    """Of one bucket."""

    def __init__(self, store: Store, bucket: str) -> None:
        self._store, self._root = store, inbox_root(bucket) / "open/"
        self._read: dict[tuple[str, str], tuple[Address, float]] = {}
        self._written: dict[Address, float] = {}

    def put(self, folder: Address, due_at: float) -> None:
        if self._written.get(folder) != due_at:
            body = json.dumps({"folder": str(folder), "due_at": due_at})
            self._store.write(self._place(folder), body.encode())
            self._written[folder] = due_at

    def drop(self, folder: Address) -> None:
        self._store.delete(self._place(folder))
        self._written.pop(folder, None)

    def due(self, now: float) -> Iterator[Address]:
        """Folders whose time has come."""
        before, self._read = self._read, {}
        for found in list(self._store.list(self._root)):
            place = (found.address.key, f"{found.etag} {found.modified}")
            note = before.get(place) or self._load(found.address)
            if note is None:
                continue
            self._read[place] = note
            folder, due_at = note
            if due_at <= now:
                yield folder

    def _load(self, address: Address) -> tuple[Address, float] | None:
        try:
            note = json.loads(self._store.read(address))
            return Address.parse(note["folder"]), float(note["due_at"])
        except NotFound:
            return None  # dropped by another a moment ago
        except (ValueError, KeyError, TypeError, UserError) as error:
            log.error("%s: no note of ours: %s", address, error)
            return None

    def _place(self, folder: Address) -> Address:
        return self._root / f"{hashlib.sha256(str(folder).encode()).hexdigest()[:24]}.json"
