"""A batch's record, `zeroshift/batches/<id>.json`: what was asked, and where it stands.

Changed by compare-and-swap only. What belongs to it lies beside it, under `<id>/`: pictures by
their content, the index and the results of each of its jobs, the lines that were refused. A batch
that is not at its end has an empty object under `zeroshift/batches-open/`, so that looking for work
is one listing.
"""

from typing import Literal

from jobs.addresses import ROOT, Address
from jobs.api.documents import Document
from jobs.noun import Noun
from jobs.store.bucket import Store

HEAD = "batch_"
Status = Literal[
    "validating",
    "failed",
    "in_progress",
    "finalizing",
    "completed",
    "expired",
    "cancelling",
    "cancelled",
]
ENDED = ("failed", "completed", "expired", "cancelled")


class BatchError(Noun):
    """Why the whole file was refused."""

    code: str
    message: str
    line: int | None = None
    param: str | None = None


class Group(Noun):
    """Requests that one job asks.

    job_id    None: no job came of it, and `problem` says why
    texts     whether answers are texts rather than JSON
    """

    number: int
    lines: int
    model: str
    texts: bool
    job_id: str | None = None
    problem: str = ""


class Usage(Noun):
    input_tokens: int = 0
    output_tokens: int = 0


class Batch(Noun):
    """Times are whole seconds since the epoch, by the name that OpenAI gives them.

    intake    name under which the intake that counts has written; empty before
    refused   lines that were wrong by themselves; they are in the intake's `refused.jsonl`
    expired   the window ran out before all was answered
    """

    version: Literal[1] = 1
    id: str
    endpoint: str
    input_file_id: str
    completion_window: str
    status: Status = "validating"
    at: dict[str, int]
    metadata: dict[str, str] | None = None
    errors: tuple[BatchError, ...] = ()
    intake: str = ""
    groups: tuple[Group, ...] = ()
    refused: int = 0
    total: int = 0
    completed: int = 0
    failed: int = 0
    cancel_requested: bool = False
    expired: bool = False
    output_file_id: str | None = None
    error_file_id: str | None = None
    usage: Usage = Usage()

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    def moved(self, status: Status, now: float) -> "Batch":
        """This batch in another status; as it is once it has ended."""
        if self.ended or self.status == status:
            return self
        at = {**self.at, status: int(now)}
        return self.model_copy(update={"status": status, "at": at})


class BatchPaths:
    """Where things of one batch lie.

    What an intake writes lies under the intake's own name, and counts once the record has the name:
    two processes that take the same batch in do not write over each other.
    """

    def __init__(self, bucket: str, batch_id: str) -> None:
        self.record = batches_root(bucket) / f"{batch_id}.json"
        self.open = open_root(bucket) / batch_id
        self.folder = batches_root(bucket) / f"{batch_id}/"

    def refused(self, intake: str) -> Address:
        return self.folder / f"{intake}/refused.jsonl"

    def index(self, intake: str, group: int) -> Address:
        return self.folder / f"{intake}/index-{group:04d}.jsonl"

    def manifest(self, intake: str, group: int) -> Address:
        return self.folder / f"{intake}/manifest-{group:04d}.json"

    def results(self, intake: str, group: int) -> Address:
        return self.folder / f"{intake}/results-{group:04d}/"

    def picture(self, digest: str) -> Address:
        return self.folder / f"pictures/{digest}"


def batches_root(bucket: str) -> Address:
    return Address(bucket, f"{ROOT}batches/")


def open_root(bucket: str) -> Address:
    return Address(bucket, f"{ROOT}batches-open/")


def batch_document(store: Store, bucket: str, batch_id: str) -> Document[Batch]:
    return Document(store, BatchPaths(bucket, batch_id).record, Batch)


def batch_ids(store: Store, bucket: str) -> list[str]:
    """Every batch, the newest first."""
    found = [each.name.removesuffix(".json") for each in store.files(batches_root(bucket))]
    return sorted(found, reverse=True)
