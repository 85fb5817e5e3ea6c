"""JSON documents in the bucket that change by compare-and-swap, as a job's record does.

For changes that may be applied twice without harm: who is told of a conflict applies the change to
what is there now, whoever wrote it.
"""

import random
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from pydantic import BaseModel

from jobs.addresses import Address
from jobs.errors import Conflict, StoreUnavailable
from jobs.record import ATTEMPTS, LONGEST_WAIT_S
from jobs.store.bucket import Store
from jobs.versions import read_noun

T = TypeVar("T", bound=BaseModel)


class Document(Generic[T]):
    """One document of one kind."""

    def __init__(
        self,
        store: Store,
        address: Address,
        kind: type[T],
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._store, self._address, self._kind, self._sleep = store, address, kind, sleep

    def create(self, document: T) -> None:
        """Write the first version; `Conflict` when there is another one."""
        self._store.swap(self._address, _bytes(document))

    def load(self) -> T:
        """`NotFound` when there is none, `Unreadable` when another version has written it."""
        return self._load()[0]

    def change(self, change: Callable[[T], T]) -> T:
        """Apply `change`, again on the newer version when somebody was first."""
        for turn in range(ATTEMPTS):
            old, etag = self._load()
            new = change(old)
            if new == old:
                return old
            try:
                self._store.replace(self._address, _bytes(new), etag)
                return new
            except Conflict:
                self._sleep(random.uniform(0.0, min(LONGEST_WAIT_S, 0.002 * 2**turn)))
        raise StoreUnavailable(f"{self._address}: changed {ATTEMPTS} times under us")

    def _load(self) -> tuple[T, str]:
        body, etag = self._store.read_tagged(self._address)
        return read_noun(self._kind, body, self._address), etag


def _bytes(document: BaseModel) -> bytes:
    return document.model_dump_json(indent=1).encode()
