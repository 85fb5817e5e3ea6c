"""S3-compatible stores: read, write, list, and the two conditional writes that locks are made of.

Everything of botocore stays in here: its exceptions leave as those of `jobs.errors`.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    ParamValidationError,
)

from jobs.addresses import Address
from jobs.errors import (
    AccessDenied,
    Conflict,
    NotFound,
    PermanentError,
    StoreUnavailable,
    UserError,
    ZeroshiftError,
)

MISSING = {"404", "NoSuchKey", "NoSuchBucket", "NotFound"}
DENIED = {
    "403",
    "AccessDenied",
    "ExpiredToken",
    "Forbidden",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
}
LOST = {"412", "PreconditionFailed", "409", "ConditionalRequestConflict"}
ARCHIVED = {"InvalidObjectState"}
BUSY = {
    "InternalError",
    "RequestTimeout",
    "ServiceUnavailable",
    "SlowDown",
    "Throttling",
    "TooManyRequests",
}
BUSY_STATUS = {"429", "500", "502", "503", "504"}  # for codes that only one store has


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """How to reach the store. Credentials come from the usual AWS chain, never from here.

    addressing  `auto` is path style for a custom endpoint, where subdomains rarely resolve
    checksums   `auto` is `when_required` for a custom endpoint: many reject the newer default
    """

    endpoint_url: str | None = None
    region: str = "us-east-1"
    addressing: Literal["auto", "path", "virtual"] = "auto"
    checksums: Literal["auto", "when_supported", "when_required"] = "auto"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Found:
    """An object as a listing shows it; `etag` without quotes."""

    address: Address
    size: int
    etag: str
    modified: datetime


class Store:
    """An S3 client with our errors; safe to share between threads."""

    def __init__(self, options: StoreOptions, connections: int = 32) -> None:
        self.options = options
        self._client = _client(options, connections)

    def read(self, address: Address, etag: str | None = None) -> bytes:
        """The whole object; with `etag`, `Conflict` when it has changed since."""
        condition = {"IfMatch": etag} if etag else {}
        return self._get(address, **condition)[0]

    def read_start(self, address: Address, length: int) -> bytes:
        """At most the first `length` bytes, by a ranged request; nothing of an empty object."""
        try:
            return self._get(address, Range=f"bytes=0-{length - 1}")[0]
        except PermanentError as error:
            if "InvalidRange" in str(error):
                return b""
            raise

    def region(self, bucket: str) -> str | None:
        """The region that the store itself says the bucket is in; None when it does not say."""
        try:
            answer = self._client.head_bucket(Bucket=bucket)
        except (BotoCoreError, ClientError) as error:
            raise translate(error, f"bucket {bucket!r}") from error
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
        try:
            self._client.upload_file(
                path, address.bucket, address.key, ExtraArgs={"ContentType": kind}
            )
        except (BotoCoreError, ClientError, boto3.exceptions.S3UploadFailedError) as error:
            raise StoreUnavailable(f"{address}: {error}") from error

    def create(self, address: Address, body: bytes) -> str:
        """Write only if there is no such object, else `Conflict`; answers the etag."""
        return _bare(self._call("put_object", address, Body=body, IfNoneMatch="*")["ETag"])

    def replace(self, address: Address, body: bytes, etag: str) -> str:
        """Write only if the object still has `etag`, else `Conflict`; answers the new etag."""
        return _bare(self._call("put_object", address, Body=body, IfMatch=etag)["ETag"])

    def delete(self, address: Address) -> None:
        self._call("delete_object", address)

    def look(self, address: Address) -> Found:
        """An object's size and etag without its bytes."""
        answer = self._call("head_object", address)
        return Found(
            address, answer["ContentLength"], _bare(answer["ETag"]), answer["LastModified"]
        )

    def exists(self, address: Address) -> bool:
        try:
            self.look(address)
        except NotFound:
            return False
        return True

    def list(self, prefix: Address) -> Iterator[Found]:
        """Every object under `prefix`, in key order, as a stream of any length."""
        for page in self._pages(prefix):
            for item in page.get("Contents", ()):
                yield Found(
                    Address(prefix.bucket, item["Key"]),
                    item["Size"],
                    _bare(item["ETag"]),
                    item["LastModified"],
                )

    def folders(self, prefix: Address) -> Iterator[Address]:
        """The prefixes one level under `prefix`."""
        for page in self._pages(prefix, Delimiter="/"):
            for item in page.get("CommonPrefixes", ()):
                yield Address(prefix.bucket, item["Prefix"])

    def make_bucket(self, bucket: str) -> None:
        try:
            self._client.create_bucket(Bucket=bucket)
        except (BotoCoreError, ClientError) as error:
            raise translate(error, f"bucket {bucket!r}") from error

    def check(self, bucket: str) -> None:
        """`UserError` that names what to do when the bucket can't be used."""
        try:
            self._client.head_bucket(Bucket=bucket)
        except (BotoCoreError, ClientError) as error:
            where = self.options.endpoint_url or "AWS"
            problem = translate(error, f"bucket {bucket!r} at {where}")
            raise UserError(f"{problem}; see settings bucket, endpoint_url and region") from error

    def _get(self, address: Address, **condition: str) -> tuple[bytes, str]:
        answer = self._call("get_object", address, **condition)
        try:
            return bytes(answer["Body"].read()), _bare(answer["ETag"])
        except (BotoCoreError, OSError) as error:
            raise StoreUnavailable(f"{address}: {error}") from error

    def _pages(self, prefix: Address, **more: str) -> Iterator[dict[str, Any]]:
        pages = self._client.get_paginator("list_objects_v2")
        try:
            for page in pages.paginate(Bucket=prefix.bucket, Prefix=prefix.key, **more):
                if page.get("IsTruncated") and not page.get("NextContinuationToken"):
                    raise StoreUnavailable(f"{prefix}: the listing was cut off without a token")
                yield page
        except (BotoCoreError, ClientError) as error:
            raise translate(error, str(prefix)) from error

    def _call(self, operation: str, address: Address, **arguments: Any) -> dict[str, Any]:
        try:
            call = getattr(self._client, operation)
            answer: dict[str, Any] = call(Bucket=address.bucket, Key=address.key, **arguments)
            return answer
        except (BotoCoreError, ClientError) as error:
            raise translate(error, str(address)) from error


def translate(error: BotoCoreError | ClientError, what: str) -> ZeroshiftError:
    """Botocore's error as one of ours, in one line that begins with `what`."""
    if isinstance(error, NoCredentialsError):
        return UserError(f"{what}: no credentials; set AWS_ACCESS_KEY_ID or AWS_PROFILE")
    if isinstance(error, ParamValidationError):
        return PermanentError(f"{what}: {' '.join(str(error).split())}")
    if not isinstance(error, ClientError):
        return StoreUnavailable(f"{what}: {error}")
    code = str(error.response.get("Error", {}).get("Code", "unknown"))
    if code in MISSING:
        return NotFound(f"{what}: not found")
    if code in DENIED:
        return AccessDenied(f"{what}: access denied ({code})")
    if code in LOST:
        return Conflict(f"{what}: changed by somebody else")
    if code in ARCHIVED:
        return PermanentError(f"{what}: archived; restore it first")
    status = str(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode"))
    if code in BUSY or {code, status} & BUSY_STATUS:
        return StoreUnavailable(f"{what}: the store answered {code}")
    return PermanentError(f"{what}: {code}: {error.response.get('Error', {}).get('Message', '')}")


def _bare(etag: str) -> str:
    return etag.strip('"')


def _client(options: StoreOptions, connections: int) -> Any:
    custom = options.endpoint_url is not None
    addressing = options.addressing
    if addressing == "auto":
        addressing = "path" if custom else "virtual"
    checksums = options.checksums
    if checksums == "auto":
        checksums = "when_required" if custom else "when_supported"
    config = Config(
        region_name=options.region,
        s3={"addressing_style": addressing},
        retries={"mode": "standard", "max_attempts": 5},
        max_pool_connections=connections,
        connect_timeout=10,
        read_timeout=60,
        request_checksum_calculation=checksums,
        response_checksum_validation=checksums,
    )
    try:
        session = boto3.session.Session()
        return session.client("s3", endpoint_url=options.endpoint_url, config=config)
    except (BotoCoreError, ValueError) as error:  # no such profile, no such address
        raise UserError(f"the store's client can't be made: {error}") from error
