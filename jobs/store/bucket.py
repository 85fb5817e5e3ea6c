"""S3-compatible stores: read, write, list, and the two conditional writes that locks are made of.

Everything of botocore stays in here and in `store_client`, `store_body` and `store_errors`: its
exceptions leave as those of `jobs.errors`, after several tries (`jobs.store.patience`).
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from jobs.addresses import Address
from jobs.errors import (
    Archived,
    Conflict,
    CredentialsExpired,
    NotFound,
    NotSupported,
    PermanentError,
    StoreUnavailable,
    UserError,
)
from jobs.store.body import read_body
from jobs.store.client import Requests, Spelling, StoreOptions, make_client
from jobs.store.errors import translate, upload_error
from jobs.store.listing import Found, Listings, bare
from jobs.store.parts import PartUploads
from jobs.store.patience import Patience

__all__ = ["Found", "Store", "StoreOptions", "translate"]

T = TypeVar("T")
PART = 8 * 1024 * 1024  # bytes of a file's part, and of a file that is not cut: boto3's default


class Store(Listings, PartUploads):
    """An S3 client with our errors; safe to share between threads.

    `options` may change once: when the store turns out to want another spelling of etags, or not
    to know conditional writes.
    """

    def __init__(
        self, options: StoreOptions, connections: int = 32, patience: Patience | None = None
    ) -> None:
        self.options = options
        self.patience = patience or Patience(connections)
        self.requests = Requests()
        self._connections = connections
        self._client = make_client(options, connections)
        self._spelling_is_proved = False

    def read(self, address: Address, etag: str | None = None) -> bytes:
        """The whole object; with `etag`, `Conflict` when it has changed since."""
        condition = {"IfMatch": etag} if etag else {}
        body, found = self._get(address, **condition)
        if etag and found != etag:  # a store that does not know the condition
            raise Conflict(f"{address}: changed by somebody else")
        return body

    def read_start(self, address: Address, length: int) -> bytes:
        """At most the first `length` bytes, by a ranged request; nothing of an empty object."""
        try:
            return self._get(address, Range=f"bytes=0-{length - 1}")[0]
        except PermanentError as error:
            if "InvalidRange" in str(error):
                return b""
            raise

    def read_part(self, address: Address, first: int, length: int, etag: str) -> bytes:
        """`length` bytes from byte `first` on, fewer at the end; `Conflict` when it has changed."""
        where = f"bytes={first}-{first + length - 1}"
        body, found = self._get(address, Range=where, IfMatch=etag)
        if found != etag:  # a store that does not know the condition
            raise Conflict(f"{address}: changed by somebody else")
        return body

    def region(self, bucket: str) -> str | None:
        """The region that the store itself says the bucket is in; None when it does not say."""
        answer = self._ask("head_bucket", f"bucket {bucket!r}", Bucket=bucket)
        headers = answer["ResponseMetadata"]["HTTPHeaders"]
        region: str | None = answer.get("BucketRegion") or headers.get("x-amz-bucket-region")
        return region

    def read_tagged(self, address: Address) -> tuple[bytes, str]:
        """The whole object and its etag."""
        return self._get(address)

    def write(self, address: Address, body: bytes, kind: str = "application/json") -> None:
        self._call("put_object", address, Body=body, ContentType=kind)

    def upload(self, address: Address, path: str, kind: str) -> None:
        """Write a local file, in parts when it is large."""
        size = Path(path).stat().st_size
        parts = -(-size // PART) + 2 if size > PART else 1

        def request() -> None:
            self.requests.note("upload_file", size, parts)
            more = {"ContentType": kind}
            try:
                self._client.upload_file(path, address.bucket, address.key, ExtraArgs=more)
            except (BotoCoreError, ClientError) as error:
                raise translate(error, str(address)) from error
            except boto3.exceptions.S3UploadFailedError as error:  # says the code in words alone
                raise translate(upload_error(str(error)), str(address)) from error

        self.patience.run(request)

    def create(self, address: Address, body: bytes | Path, kind: str = "application/json") -> str:
        """Write only if there is no such object, else `Conflict`; answers the etag.

        As with `replace`, a `Conflict` may be one's own: the write took effect and its answer was
        lost on the way. Whoever must know asks `swap`.
        """
        if self.options.conditional:
            try:
                return self._put(address, body, kind, IfNoneMatch="*")
            except NotSupported:
                self.options = replace(self.options, conditional=False)
        if self.exists(address):
            raise Conflict(f"{address}: changed by somebody else")
        return self._put(address, body, kind)

    def replace(
        self, address: Address, body: bytes | Path, etag: str, kind: str = "application/json"
    ) -> str:
        """Write only if the object still has `etag`, else `Conflict`; answers the new etag."""
        if self.options.conditional:
            try:
                return self._replace(address, body, etag, kind)
            except NotSupported:
                self.options = replace(self.options, conditional=False)
        if not self._has(address, etag):
            raise Conflict(f"{address}: changed by somebody else")
        return self._put(address, body, kind)

    def swap(self, address: Address, body: bytes, etag: str | None = None) -> str:
        """`create`, or with `etag` `replace`; answers the etag of what is there then.

        `Conflict` when somebody else was first. Where these very bytes lie already it was
        ourselves, and the answer was lost: `body` must have something in it that nobody else
        writes.
        """
        try:
            return self.create(address, body) if etag is None else self.replace(address, body, etag)
        except Conflict:
            there, found = self.read_tagged(address)
            if there != body:
                raise
            return found

    def delete(self, address: Address) -> None:
        self._call("delete_object", address)

    def look(self, address: Address) -> Found:
        """An object's size and etag without its bytes."""
        answer = self._call("head_object", address)
        return Found(address, answer["ContentLength"], bare(answer["ETag"]), answer["LastModified"])

    def exists(self, address: Address) -> bool:
        try:
            self.look(address)
        except NotFound:
            return False
        return True

    def make_bucket(self, bucket: str) -> None:
        self._ask("create_bucket", f"bucket {bucket!r}", Bucket=bucket)

    def check(self, bucket: str) -> None:
        """`UserError` that names what to do when the bucket can't be used."""
        where = self.options.endpoint_url or "AWS"
        try:
            self._ask("head_bucket", f"bucket {bucket!r} at {where}", Bucket=bucket)
        except (PermanentError, StoreUnavailable) as problem:
            raise UserError(f"{problem}; see settings bucket, endpoint_url and region") from problem

    def _replace(self, address: Address, body: bytes | Path, etag: str, kind: str) -> str:
        try:
            new = self._put(address, body, kind, IfMatch=_spelled(etag, self.options.etags))
        except Conflict:
            # Some stores refuse the right etag when it has quotes, or when it has none.
            if self._spelling_is_proved or not self._has(address, etag):
                raise
            other: Spelling = "bare" if self.options.etags == "quoted" else "quoted"
            new = self._put(address, body, kind, IfMatch=_spelled(etag, other))
            self.options = replace(self.options, etags=other)
        self._spelling_is_proved = True
        return new

    def _has(self, address: Address, etag: str) -> bool:
        try:
            return self.look(address).etag == etag
        except NotFound:
            return False

    def _put(self, address: Address, body: bytes | Path, kind: str, **condition: str) -> str:
        try:
            answer = self._call("put_object", address, Body=body, ContentType=kind, **condition)
        except NotFound as error:
            if "IfMatch" not in condition:
                raise
            raise Conflict(f"{address}: deleted by somebody else") from error
        return bare(answer["ETag"])

    def _get(self, address: Address, **condition: str) -> tuple[bytes, str]:
        def request() -> tuple[bytes, str]:
            answer = self._request(
                "get_object", str(address), Bucket=address.bucket, Key=address.key, **condition
            )
            try:  # the body can break off too, and is asked for again then
                body = read_body(answer["Body"], answer.get("ContentLength", 0))
            except (BotoCoreError, OSError) as error:
                raise StoreUnavailable(f"{address}: {error}") from error
            self.requests.received(len(body))
            return body, bare(answer["ETag"])

        try:
            return self._patiently(request)
        except Archived as error:
            raise self._thawing(address) or error from error

    def _thawing(self, address: Address) -> Archived | None:
        """What to say of an archived object whose restore has been asked for."""
        try:
            state = self._call("head_object", address).get("Restore") or ""
        except (PermanentError, StoreUnavailable):
            return None
        if 'ongoing-request="true"' not in state:
            return None
        return Archived(
            f"{address}: archived, its restore is under way; submit again when it is done"
        )

    def _call(self, operation: str, address: Address, **arguments: Any) -> dict[str, Any]:
        return self._ask(
            operation, str(address), Bucket=address.bucket, Key=address.key, **arguments
        )

    def _ask(self, operation: str, what: str, **arguments: Any) -> dict[str, Any]:
        return self._patiently(lambda: self._request(operation, what, **arguments))

    def _patiently(self, request: Callable[[], T]) -> T:
        try:
            return self.patience.run(request)
        except CredentialsExpired:
            self._renew()
            return self.patience.run(request)

    def _renew(self) -> None:
        """Take the credentials that there are now."""
        self._client = make_client(self.options, self._connections)

    def _request(self, operation: str, what: str, **arguments: Any) -> dict[str, Any]:
        """One try of one request."""
        try:
            call = getattr(self._client, operation)
            body = arguments.get("Body", b"")
            self.requests.note(operation, _size(body))
            if isinstance(body, Path):
                with body.open("rb") as file:
                    answer: dict[str, Any] = call(**{**arguments, "Body": file})
            else:
                answer = call(**arguments)
            return answer
        except (BotoCoreError, ClientError) as error:
            raise translate(error, what) from error


def _size(body: bytes | Path) -> int:
    return body.stat().st_size if isinstance(body, Path) else len(body)


def _spelled(etag: str, spelling: Spelling) -> str:
    return f'"{etag}"' if spelling == "quoted" else etag
