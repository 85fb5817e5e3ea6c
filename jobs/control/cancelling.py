"""Cancel: ask for a job to be stopped. Its controller does it; what rows there are stay."""

from jobs.addresses import JobPaths
from jobs.queue import dequeue
from jobs.record import Record, RecordFile
from jobs.states import State
from jobs.store.bucket import Store


def request_cancel(store: Store, bucket: str, job_id: str, now: float) -> Record:
    """The record after the request; `NotFound` when there is no such job.

    A job that nobody has claimed ends at once, one that has ended stays as it is.
    """

    def change(record: Record) -> Record:
        if record.state.ended:
            return record
        if record.state is State.QUEUED and not record.owner:
            return record.moved(State.CANCELLED, now, "by the user")
        return record.model_copy(update={"cancel_requested": True})

    record = RecordFile(store, JobPaths.of(bucket, job_id)).change(change)
    if record.state is State.CANCELLED:
        dequeue(store, bucket, job_id)
    return record
