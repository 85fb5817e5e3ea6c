"""What a node's own process tells the registry: that it has joined, that it was given notice.

A sign is a file beside the node's entry that holds the moment, in seconds since the epoch. It is
written once, by the node, and read with the entry.
"""

import time
from pathlib import Path

from infra.clusters.local.lease import write_whole

JOINED, NOTICE = "joined", "notice"
ALL = (JOINED, NOTICE)


def give(place: Path, sign: str) -> None:
    """Leave a sign beside `place`, the node's entry without its suffix; the first one holds."""
    path = place.with_name(f"{place.name}.{sign}")
    if not path.exists():
        write_whole(path, repr(time.time()))


def read(place: Path, sign: str) -> float | None:
    """When the sign was given; None when it was not."""
    try:
        return float(place.with_name(f"{place.name}.{sign}").read_text())
    except (OSError, ValueError):
        return None
