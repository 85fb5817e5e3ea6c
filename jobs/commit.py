"""Commit: an attempt's rows under a name of their own, then the shard's marker that points at them.

Called by the worker. A marker is written under the conditions of the store: of two attempts the
last one counts, by epoch, and a writer that was held up can not take a shard back. The rows of an
attempt that does not count stay behind, unmarked, and nobody reads them.
"""

import hashlib
import time
from collections.abc import Sequence

from jobs.addresses import JobPaths
from jobs.errors import Conflict, NotFound, StoreUnavailable
from jobs.order import Marker
from jobs.rows import Row
from jobs.store.bucket import Store

ATTEMPTS = 20


def make_commit(
    paths: JobPaths, rows: Sequence[Row], shard: int, epoch: int, attempt: int, began: float
) -> tuple[bytes, Marker]:
    """The rows as they are to be stored, and the marker that will vouch for them."""
    body = "".join(row.to_line() + "\n" for row in rows).encode()
    return body, Marker(
        shard=shard,
        epoch=epoch,
        attempt=attempt,
        rows=len(rows),
        errors=sum(row.status == "error" for row in rows),
        file=paths.rows_of_attempt(shard, epoch, attempt).name,
        tokens=sum(row.tokens for row in rows),
        weight=sum(row.weight for row in rows),
        digest=hashlib.sha256(body).hexdigest(),
        started_at=began,
        ended_at=max(began, time.time()),
    )


def commit(store: Store, paths: JobPaths, body: bytes, marker: Marker) -> Marker:
    """Write rows and marker; answers the marker that counts, which may be a later attempt's."""
    store.write(paths.rows / marker.file, body, "application/jsonl")
    return mark(store, paths, marker)


def mark(store: Store, paths: JobPaths, marker: Marker) -> Marker:
    """Write the marker unless one of at least its rank is there; answers the one that is."""
    address, text = paths.marker_of(marker.shard), marker.model_dump_json().encode()
    for _ in range(ATTEMPTS):
        try:
            there, etag = store.read_tagged(address)
        except NotFound:
            there, etag = b"", ""
        if there:
            found = Marker.model_validate_json(there)
            if found.rank >= marker.rank:
                return found
        try:
            store.replace(address, text, etag) if etag else store.create(address, text)
            return marker
        except Conflict:
            continue  # somebody was first, or it was ourselves: look again
    raise StoreUnavailable(f"{address}: the marker changed {ATTEMPTS} times under us")
