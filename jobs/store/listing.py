"""Listings: what lies under a prefix, as streams of any length.

A part of `jobs.store.bucket.Store`, apart to keep both readable.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jobs.addresses import Address
from jobs.errors import StoreUnavailable


@dataclass(frozen=True, slots=True)
class Found:
    """An object as a listing shows it; `etag` without quotes."""

    address: Address
    size: int
    etag: str
    modified: datetime


class Listings(ABC):
    """What a store tells of a prefix."""

    @abstractmethod
    def _ask(self, operation: str, what: str, **arguments: Any) -> dict[str, Any]:
        """One request, with our errors."""

    def list(self, prefix: Address) -> Iterator[Found]:
        """Every object under `prefix`, in key order, as a stream of any length."""
        for page in self._pages(prefix):
            for item in page.get("Contents", ()):
                yield Found(
                    Address(prefix.bucket, item["Key"]),
                    item["Size"],
                    bare(item["ETag"]),
                    item["LastModified"],
                )

    def files(self, prefix: Address) -> Iterator[Address]:
        """The objects one level under `prefix`."""
        for page in self._pages(prefix, Delimiter="/"):
            for item in page.get("Contents", ()):
                yield Address(prefix.bucket, item["Key"])

    def folders(self, prefix: Address) -> Iterator[Address]:
        """The prefixes one level under `prefix`."""
        for page in self._pages(prefix, Delimiter="/"):
            for item in page.get("CommonPrefixes", ()):
                yield Address(prefix.bucket, item["Prefix"])

    def _pages(self, prefix: Address, **more: str) -> Iterator[dict[str, Any]]:
        where = {"Bucket": prefix.bucket, "Prefix": prefix.key, **more}
        token: str | None = None
        while True:
            place = {"ContinuationToken": token} if token else {}
            page = self._ask("list_objects_v2", str(prefix), **where, **place)
            yield page
            if not page.get("IsTruncated"):
                return
            last, token = token, page.get("NextContinuationToken")
            if not token or token == last:
                raise StoreUnavailable(f"{prefix}: the listing was cut off without a token")


def bare(etag: str) -> str:
    """An etag without its quotes."""
    return etag.strip('"')
