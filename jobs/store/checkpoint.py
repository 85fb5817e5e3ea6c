"""A checkpoint in a bucket, for the planner: its configuration is read, never its weights."""

from infra.models.sources import MOST_BYTES, Reader
from jobs.addresses import Address
from jobs.errors import NotFound
from jobs.store.bucket import Store


class StoreReader:
    """Files under an `s3://BUCKET/PREFIX/`, by their names."""

    def __init__(self, store: Store, prefix: Address) -> None:
        self._store, self._prefix = store, prefix

    def read(self, name: str, length: int | None = None) -> bytes | None:
        try:
            return self._store.read_start(self._prefix / name, length or MOST_BYTES)
        except NotFound:
            return None


def reader_in(store: Store, name: str) -> Reader | None:
    """The reader of a model called `name`; None unless it is an `s3://` address."""
    return StoreReader(store, Address.parse(name)) if name.startswith("s3://") else None
