"""What becomes of a batch whose step fails for no reason of its own or the store's: pure.

It is looked at again after longer and longer waits, and given up in the end, so that its user is
told rather than left waiting until the window has run out.
"""

from jobs.api.batch.record import Batch, BatchError
from jobs.errors import ZeroshiftError

MOST_FAULTS = 8  # in a row: with the waits between them some ten minutes
FIRST_WAIT_S, LONGEST_WAIT_S = 5.0, 600.0


def after_fault(batch: Batch, error: Exception, now: float) -> Batch:
    """The batch after one more fault, `now` in seconds since the epoch."""
    faults = batch.faults + 1
    if faults >= MOST_FAULTS:
        told = BatchError(
            code="internal_error", message=f"Given up after {faults} tries: {_said(error)}"
        )
        return batch.moved("failed", now).model_copy(update={"errors": (told,), "faults": faults})
    wait_s = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2**batch.faults)
    return batch.model_copy(update={"faults": faults, "not_before": now + wait_s})


def _said(error: Exception) -> str:
    """Our own errors are written for users; others may name what is none of theirs."""
    if isinstance(error, ZeroshiftError):
        return str(error)
    return "something went wrong here; the server's log says what."
