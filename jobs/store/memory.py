"""A store in this process's memory, for tests and measurements: `Store` itself over another client.

It keeps the contract of a real one (the same tests run against both) and is linearizable: each
request takes effect at one moment, under a lock.
"""

import hashlib
import io
import threading
import uuid
from bisect import bisect_left, insort
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from jobs.store.bucket import Store, StoreOptions
from jobs.store.client import Requests
from jobs.store.patience import Patience

PAGE = 1000


class MemoryStore(Store):
    """Objects in memory; several may share one `client`."""

    def __init__(
        self, client: "MemoryClient | None" = None, patience: Patience | None = None
    ) -> None:
        self.options = StoreOptions()
        self.patience = patience or Patience(32)
        self.requests = Requests()
        self._client = client or MemoryClient()
        self._spelling_is_proved = False

    def _renew(self) -> None:
        """There are no credentials to renew."""


class MemoryClient:
    """The few requests of S3 that `Store` makes, with S3's answers and errors."""

    def __init__(self) -> None:
        self.buckets: dict[str, dict[str, tuple[bytes, str, datetime]]] = {}
        self._keys: dict[str, list[str]] = {}
        self._parts: dict[str, dict[int, bytes]] = {}
        self._lock = threading.Lock()

    def create_bucket(self, *, Bucket: str) -> dict[str, Any]:  # noqa: N803
        with self._lock:
            self.buckets.setdefault(Bucket, {})
            self._keys.setdefault(Bucket, [])
        return {}

    def head_bucket(self, *, Bucket: str) -> dict[str, Any]:  # noqa: N803
        self._objects(Bucket)
        return {"ResponseMetadata": {"HTTPHeaders": {}}}

    def put_object(self, *, Bucket: str, Key: str, Body: Any, **more: Any) -> dict[str, Any]:  # noqa: N803
        body = Body if isinstance(Body, bytes) else Body.read()
        etag = hashlib.md5(body, usedforsecurity=False).hexdigest()
        with self._lock:
            objects = self._objects(Bucket)
            self._check(objects.get(Key), more)
            if Key not in objects:
                insort(self._keys[Bucket], Key)
            objects[Key] = (body, etag, datetime.now(UTC))
        return {"ETag": f'"{etag}"'}

    def get_object(self, *, Bucket: str, Key: str, **more: Any) -> dict[str, Any]:  # noqa: N803
        with self._lock:
            body, etag, modified = self._found(Bucket, Key, "NoSuchKey")
        self._check((body, etag, modified), more)
        if "Range" in more:
            first, last = map(int, more["Range"].removeprefix("bytes=").split("-"))
            if first >= len(body):
                raise _error("InvalidRange", 416)
            body = body[first : last + 1]
        return {"Body": io.BytesIO(body), **_facts(body, etag, modified)}

    def head_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        with self._lock:
            return _facts(*self._found(Bucket, Key, "404"))

    def delete_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        with self._lock:
            if self._objects(Bucket).pop(Key, None) is not None:
                self._keys[Bucket].remove(Key)
        return {}

    def list_objects_v2(
        self,
        *,
        Bucket: str,  # noqa: N803
        Prefix: str,  # noqa: N803
        Delimiter: str = "",  # noqa: N803
        ContinuationToken: str = "",  # noqa: N803
    ) -> dict[str, Any]:
        with self._lock:
            objects, keys = self._objects(Bucket), self._keys[Bucket]
            first = bisect_left(keys, max(Prefix, ContinuationToken))
            page = [key for key in keys[first : first + PAGE + 1] if key.startswith(Prefix)]
            found = {key: objects[key] for key in page[:PAGE]}
        more = {"IsTruncated": True, "NextContinuationToken": page[PAGE]} if page[PAGE:] else {}
        folders = {
            Prefix + key[len(Prefix) :].partition(Delimiter)[0] + Delimiter: None
            for key in found
            if Delimiter and Delimiter in key[len(Prefix) :]
        }
        contents = [
            {"Key": key, "Size": len(body), "ETag": f'"{etag}"', "LastModified": modified}
            for key, (body, etag, modified) in found.items()
            if not Delimiter or Delimiter not in key[len(Prefix) :]
        ]
        return {"Contents": contents, "CommonPrefixes": [{"Prefix": f} for f in folders], **more}

    def create_multipart_upload(self, *, Bucket: str, Key: str, **_: Any) -> dict[str, Any]:  # noqa: N803
        self._objects(Bucket)
        upload = uuid.uuid4().hex
        with self._lock:
            self._parts[upload] = {}
        return {"UploadId": upload}

    def upload_part(
        self,
        *,
        Bucket: str,  # noqa: N803
        Key: str,  # noqa: N803
        UploadId: str,  # noqa: N803
        PartNumber: int,  # noqa: N803
        Body: bytes,  # noqa: N803
    ) -> dict[str, Any]:
        with self._lock:
            self._parts[UploadId][PartNumber] = Body
        return {"ETag": f'"{hashlib.md5(Body, usedforsecurity=False).hexdigest()}"'}

    def complete_multipart_upload(
        self,
        *,
        Bucket: str,  # noqa: N803
        Key: str,  # noqa: N803
        UploadId: str,  # noqa: N803
        **_: Any,
    ) -> dict[str, Any]:
        with self._lock:
            parts = self._parts.pop(UploadId)
        body = b"".join(parts[number] for number in sorted(parts))
        return self.put_object(Bucket=Bucket, Key=Key, Body=body)

    def abort_multipart_upload(self, *, Bucket: str, Key: str, UploadId: str) -> dict[str, Any]:  # noqa: N803
        with self._lock:
            self._parts.pop(UploadId, None)
        return {}

    def upload_file(self, path: str, bucket: str, key: str, ExtraArgs: Any) -> None:  # noqa: N803
        with open(path, "rb") as file:
            self.put_object(Bucket=bucket, Key=key, Body=file)

    def _objects(self, bucket: str) -> dict[str, tuple[bytes, str, datetime]]:
        if bucket not in self.buckets:
            raise _error("NoSuchBucket", 404)
        return self.buckets[bucket]

    def _found(self, bucket: str, key: str, code: str) -> tuple[bytes, str, datetime]:
        found = self._objects(bucket).get(key)
        if found is None:
            raise _error(code, 404)
        return found

    def _check(self, there: tuple[bytes, str, datetime] | None, condition: dict[str, Any]) -> None:
        wanted = condition.get("IfMatch")
        if wanted is not None and (there is None or there[1] != wanted.strip('"')):
            raise _error("PreconditionFailed", 412)
        if condition.get("IfNoneMatch") == "*" and there is not None:
            raise _error("PreconditionFailed", 412)


def _facts(body: bytes, etag: str, modified: datetime) -> dict[str, Any]:
    return {"ETag": f'"{etag}"', "ContentLength": len(body), "LastModified": modified}


def _error(code: str, status: int) -> ClientError:
    answer: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, "memory")
