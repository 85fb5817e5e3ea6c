"""A few rows of a job that may still be running: the first ones of its first committed shard."""

import json
from typing import Any

from jobs.addresses import JobPaths
from jobs.errors import NotFound
from jobs.order import Marker
from jobs.store.bucket import Store

MOST = 8


def sample_of(store: Store, paths: JobPaths, most: int = MOST) -> list[dict[str, Any]]:
    """Rows as plain JSON, without a price; none before a shard is committed."""
    first = next(iter(store.list(paths.markers)), None)
    if first is None:
        return []
    try:
        marker = Marker.model_validate_json(store.read(first.address))
        name = marker.file or paths.rows_of(marker.shard).name
        lines = store.read(paths.rows / name).split(b"\n")
    except NotFound:  # written anew at this moment
        return []
    return [json.loads(line) for line in lines[:most] if line]
