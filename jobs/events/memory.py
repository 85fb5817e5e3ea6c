"""What was taken of each folder: one object a folder, changed by compare-and-swap only.

A batch is written down before its job is submitted, so of two controllers that look at the same
moment one takes it and the other sees what is left; whoever finds a batch without a job submits it
again, which is one job all the same.
"""

import hashlib
import json
from typing import Literal

from pydantic import ValidationError

from jobs.addresses import Address, inbox_root
from jobs.errors import NotFound, PermanentError
from jobs.noun import Noun
from jobs.problems import one_line, problems_of
from jobs.store.bucket import Store


class Batch(Noun):
    """Pictures that were taken together.

    keys      etag by the part of the key below the folder
    closing   identity of the marker that closed it; "": it was quiet
    job_id    "" until the job's record exists
    refused   why it can't become a job, under the settings and the marker of digest `under`
    """

    id: str
    keys: dict[str, str]
    output: str
    taken_at: float
    closing: str = ""
    job_id: str = ""
    refused: str = ""
    under: str = ""


class Memory(Noun):
    """`zeroshift/inbox/<digest of the folder>.json`"""

    version: Literal[1] = 1
    folder: str
    batches: tuple[Batch, ...] = ()

    @property
    def taken(self) -> set[tuple[str, str]]:
        return {pair for batch in self.batches for pair in batch.keys.items()}

    def with_batch(self, batch: Batch) -> "Memory":
        """With `batch` in the place of the one of its id, or at the end."""
        others = [each for each in self.batches if each.id != batch.id]
        if len(others) == len(self.batches):
            return self.model_copy(update={"batches": (*self.batches, batch)})
        same = (batch if each.id == batch.id else each for each in self.batches)
        return self.model_copy(update={"batches": tuple(same)})


class MemoryFile:
    """The memory of one folder in the bucket."""

    def __init__(self, store: Store, folder: Address) -> None:
        self._store, self._folder = store, folder
        digest = hashlib.sha256(str(folder).encode()).hexdigest()[:24]
        self._address = inbox_root(folder.bucket) / f"{digest}.json"

    def load(self) -> tuple[Memory, str | None]:
        """The memory and its etag; an empty one and None where there is none."""
        try:
            body, etag = self._store.read_tagged(self._address)
        except NotFound:
            return Memory(folder=str(self._folder)), None
        try:
            return Memory.model_validate_json(body), etag
        except ValidationError as error:
            raise PermanentError(
                f"{self._address}: no memory of ours: {one_line(problems_of(error, Memory))}"
            ) from error

    def save(self, memory: Memory, etag: str | None) -> None:
        """`Conflict` when somebody else was first."""
        body = memory.model_dump_json(indent=1).encode()
        if etag is None:
            self._store.create(self._address, body)
        else:
            self._store.replace(self._address, body, etag)


class Settled:
    """Folders of which all is taken, by fingerprint: so that a listing alone tells that nothing is
    new. It is a cache: whatever it does not know is looked up in the folder's memory."""

    def __init__(self, store: Store, bucket: str) -> None:
        self._store, self._address = store, inbox_root(bucket) / "settled.json"
        self._known: dict[str, str] | None = None
        self._changed = False

    def has(self, folder: Address, fingerprint: str) -> bool:
        return self._loaded().get(folder.key) == fingerprint

    def add(self, folder: Address, fingerprint: str) -> None:
        self._loaded()[folder.key] = fingerprint
        self._changed = True

    def keep(self, there: set[str]) -> None:
        """Forget folders that are not `there` any more; write it down if anything has changed."""
        known = self._loaded()
        if not there >= known.keys():
            self._known = {key: value for key, value in known.items() if key in there}
            self._changed = True
        if self._changed:
            self._store.write(self._address, json.dumps(self._known).encode())
            self._changed = False

    def _loaded(self) -> dict[str, str]:
        if self._known is None:
            self._known = self._read()
        return self._known

    def _read(self) -> dict[str, str]:
        try:
            found = json.loads(self._store.read(self._address))
            return {str(key): str(value) for key, value in found.items()}
        except (NotFound, ValueError, AttributeError):  # a cache: what is broken is made anew
            return {}
