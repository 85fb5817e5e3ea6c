"""Fetch one pinned input. The first of a row's five stages.

Throttling and outages are tried again with jitter; what is left is the row's error, since one
object that can't be read must not hold up the others.
"""

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from jobs.addresses import Address
from jobs.errors import (
    AccessDenied,
    Archived,
    Conflict,
    NotFound,
    PermanentError,
    StoreUnavailable,
    TemporaryError,
    Throttled,
    ZeroshiftError,
)
from jobs.order import PinnedObject
from jobs.store.bucket import Store
from worker.errors import FetchError

ATTEMPTS, LONGEST_WAIT_S = 5, 10.0
CODES: dict[type[ZeroshiftError], tuple[str, bool]] = {
    NotFound: ("object_gone", False),
    Conflict: ("input_changed", False),
    AccessDenied: ("access_denied", False),
    Archived: ("archived", False),
    PermanentError: ("unreadable", False),
    Throttled: ("read_throttled", True),
    StoreUnavailable: ("read_failed", True),
}


def fetch(store: Store, pinned: PinnedObject) -> bytes:
    """The bytes of the object that was pinned; `FetchError` when they can't be had.

    A `UserError` (no credentials) passes: it is the worker's own trouble and no object's.
    """
    try:
        for attempt in Retrying(
            retry=retry_if_exception_type(StoreUnavailable),
            stop=stop_after_attempt(ATTEMPTS),
            wait=wait_random_exponential(max=LONGEST_WAIT_S),
            reraise=True,
        ):
            with attempt:
                return store.read(Address.parse(pinned.address), pinned.etag)
    except (TemporaryError, PermanentError) as error:
        code, retryable = next(v for kind, v in CODES.items() if isinstance(error, kind))
        raise FetchError(code, "fetch", str(error), retryable) from error
    raise AssertionError("unreachable: Retrying either returns or raises")
