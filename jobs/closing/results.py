"""The results of a job as they lie in its output, read again."""

import io
from collections.abc import Iterator

from jobs.addresses import Address
from jobs.store.bucket import Store


def rows_of(store: Store, output: Address) -> Iterator[bytes]:
    """The lines of a job's results, part after part."""
    for found in store.list(output / "part-"):
        yield from io.BytesIO(store.read(found.address))
