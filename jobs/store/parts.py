"""Uploads in parts: the four requests that `jobs.store.streams` writes large objects with.

A part of `jobs.store.bucket.Store`, apart to keep both readable.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from jobs.addresses import Address


class PartUploads(ABC):
    """What a store does with parts."""

    @abstractmethod
    def _call(self, operation: str, address: Address, **arguments: Any) -> dict[str, Any]:
        """One request about one object, with our errors."""

    def begin_parts(self, address: Address, kind: str) -> str:
        """Begin an upload; answers its id."""
        answer = self._call("create_multipart_upload", address, ContentType=kind)
        return str(answer["UploadId"])

    def write_part(self, address: Address, upload: str, number: int, body: bytes) -> str:
        """One part, numbered from 1; 5 MiB or more, but the last. Answers its etag."""
        part = {"UploadId": upload, "PartNumber": number, "Body": body}
        return str(self._call("upload_part", address, **part)["ETag"])

    def end_parts(self, address: Address, upload: str, etags: Sequence[str]) -> None:
        """Only now the object is there."""
        parts = [{"PartNumber": number, "ETag": etag} for number, etag in enumerate(etags, 1)]
        whole = {"UploadId": upload, "MultipartUpload": {"Parts": parts}}
        self._call("complete_multipart_upload", address, **whole)

    def drop_parts(self, address: Address, upload: str) -> None:
        """Give an upload up; what was written of it is not paid for any longer."""
        self._call("abort_multipart_upload", address, UploadId=upload)
