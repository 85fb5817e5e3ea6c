"""A stall: the engine answers, and yet nothing has been committed for too long."""

from pathlib import Path

from jobs.addresses import Address
from jobs.control.setbacks import Setback
from jobs.store.bucket import Store

TAIL_BYTES = 64 * 1024


def check_stall(store: Store, dump: Address, log: Path, idle_s: float, most_s: float) -> None:
    """`Setback` after more than `most_s` seconds without a commit; the log's end goes to `dump`."""
    if idle_s <= most_s:
        return
    store.write(dump, tail(log), "text/plain")
    raise Setback(f"no shard was committed for {most_s:g} s; the end of its log: {dump}")


def tail(log: Path) -> bytes:
    """The end of a log; what there is to say when there is none."""
    try:
        return log.read_bytes()[-TAIL_BYTES:]
    except OSError as error:
        return f"no log: {error}".encode()
