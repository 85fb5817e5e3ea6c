"""The fence around a job's results: only the holder of the claim writes them.

The record is safe, it carries the epoch; the results have fixed names, and a controller that was
paused for minutes could write over its successor's. So each write is conditional on what lay there
while the claim was seen to hold. Whatever a successor writes comes after its claim, and so after
that look: the late write finds another etag, and is refused.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from jobs.addresses import Address
from jobs.errors import Conflict, NotFound, StoreUnavailable
from jobs.store.bucket import Store

ATTEMPTS = 20


@dataclass(slots=True)
class Fence:
    """Writes for a job under a claim. `check` raises `Conflict` when the claim is lost."""

    store: Store
    check: Callable[[], object]
    _etags: dict[Address, str] = field(default_factory=dict)
    _surveyed: list[Address] = field(default_factory=list)

    def survey(self, prefix: Address) -> list[Address]:
        """Note what lies under `prefix`: saves a look for each write there. Answers the addresses.

        Takes some 200 bytes an object; there is one for each shard.
        """
        found = {each.address: each.etag for each in self.store.list(prefix)}
        self.check()  # after the listing: what a successor writes is not in it
        self._etags.update(found)
        self._surveyed.append(prefix)
        return list(found)

    def write(self, address: Address, body: bytes | Path, kind: str = "application/json") -> None:
        """Write over whatever lies there; `Conflict` when the claim is lost."""
        etag = self._etags.get(address)
        if etag is None and not self._is_surveyed(address):
            etag = self._look(address)
        for _ in range(ATTEMPTS):
            try:
                self._etags[address] = self._put(address, body, etag, kind)
                return
            except Conflict:  # a predecessor's last write, or our own: look again
                etag = self._look(address)
        raise StoreUnavailable(f"{address}: changed {ATTEMPTS} times under us")

    def _put(self, address: Address, body: bytes | Path, etag: str | None, kind: str) -> str:
        if etag is None:
            return self.store.create(address, body, kind)
        return self.store.replace(address, body, etag, kind)

    def _look(self, address: Address) -> str | None:
        try:
            etag: str | None = self.store.look(address).etag
        except NotFound:
            etag = None
        self.check()
        return etag

    def _is_surveyed(self, address: Address) -> bool:
        return any(
            address.bucket == prefix.bucket and address.key.startswith(prefix.key)
            for prefix in self._surveyed
        )
