"""The queue: one empty object for each job that has not ended, so that a look is one listing."""

from collections.abc import Iterator

from jobs.addresses import jobs_root, queue_root
from jobs.store.bucket import Store


def enqueue(store: Store, bucket: str, job_id: str) -> None:
    store.write(queue_root(bucket) / job_id, b"")


def dequeue(store: Store, bucket: str, job_id: str) -> None:
    store.delete(queue_root(bucket) / job_id)


def queued(store: Store, bucket: str) -> list[str]:
    """Jobs that have not ended, the oldest first."""
    found = sorted(store.list(queue_root(bucket)), key=lambda each: (each.modified, each.address))
    return [each.address.name for each in found]


def all_jobs(store: Store, bucket: str) -> Iterator[str]:
    """Every job there ever was, by id."""
    root = jobs_root(bucket)
    return (each.name for each in store.folders(root))
