"""Files of the API: `zeroshift/files/<id>/content`, and `file.json` beside it, written last."""

import hashlib
import time
from typing import Literal

from jobs.addresses import ROOT, Address
from jobs.api.ids import checked_id
from jobs.errors import NotFound
from jobs.noun import Noun
from jobs.store.bucket import Store
from jobs.store.streams import PartWriter

HEAD = "file-"
KIND = "application/jsonl"


class File(Noun):
    """`bytes` and `created_at` (seconds since the epoch) are named as OpenAI names them."""

    id: str
    object: Literal["file"] = "file"
    bytes: int
    created_at: int
    filename: str
    purpose: Literal["batch", "batch_output"]
    status: Literal["processed"] = "processed"


def files_root(bucket: str) -> Address:
    return Address(bucket, f"{ROOT}files/")


def content_of(bucket: str, file_id: str) -> Address:
    return files_root(bucket) / checked_id(file_id, HEAD) / "content"


def _record_of(bucket: str, file_id: str) -> Address:
    return files_root(bucket) / checked_id(file_id, HEAD) / "file.json"


def load_file(store: Store, bucket: str, file_id: str) -> File:
    """`NotFound` when there is no such file, or when it is only half there."""
    address = _record_of(bucket, file_id)
    try:
        return File.model_validate_json(store.read(address))
    except NotFound as error:
        raise NotFound(f"no file {file_id!r}") from error


def save_file(store: Store, bucket: str, file: File) -> None:
    """The file is there from now on; its content is there already."""
    store.write(_record_of(bucket, file.id), file.model_dump_json().encode())


def delete_file(store: Store, bucket: str, file_id: str) -> None:
    """The record first: without it there is no file."""
    load_file(store, bucket, file_id)
    store.delete(_record_of(bucket, file_id))
    store.delete(content_of(bucket, file_id))


def file_ids(store: Store, bucket: str) -> list[str]:
    """Every file, the oldest first."""
    return sorted(each.name for each in store.folders(files_root(bucket)))


class OutputFile:
    """A file that a batch comes to: written as a stream, under an id that its batch gives it.

    Written twice, after a restart, it is the same file.
    """

    def __init__(self, store: Store, bucket: str, batch_id: str, what: str) -> None:
        self._store, self._bucket, self._name = store, bucket, f"{batch_id}_{what}.jsonl"
        digest = hashlib.sha256(f"{batch_id}/{what}".encode()).hexdigest()[:16]
        # The batch's own time in front, so that files stay in the order of time.
        self.id = f"{HEAD}{batch_id.rpartition('_')[2][:12]}{digest}"
        self.lines = 0
        self._writer = PartWriter(store, content_of(bucket, self.id), KIND)

    def write(self, line: bytes) -> None:
        self._writer.write(line + b"\n")
        self.lines += 1

    def close(self) -> str | None:
        """The file's id; None, and no file, when nothing was written."""
        if not self.lines:
            return None
        self._writer.close()
        now = int(time.time())
        file = File(
            id=self.id,
            bytes=self._writer.size,
            created_at=now,
            filename=self._name,
            purpose="batch_output",
        )
        save_file(self._store, self._bucket, file)
        return self.id

    def drop(self) -> None:
        self._writer.drop()
