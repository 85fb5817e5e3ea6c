"""How to reach a store: the options, and botocore's client made from them."""

import threading
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, Literal

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError
from botocore.loaders import create_loader

from jobs.errors import UserError

# The descriptions of AWS's services: most of the time that a client takes goes into reading them.
LOADER = create_loader()


Spelling = Literal["bare", "quoted"]
READS = {"get_object", "head_object", "head_bucket"}  # the cheaper class of requests


class Requests:
    """Counts requests to a store, each try of one, and bytes; safe to share between threads.

    `reads`, and `writes`, which are also listings; deleting is free. `received` and `sent` are
    bytes of objects.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def note(self, operation: str, sent: int = 0, times: int = 1) -> None:
        """One request more, with so many bytes."""
        if operation != "delete_object":
            self._add("reads" if operation in READS else "writes", times)
        self._add("sent", sent)

    def received(self, size: int) -> None:
        self._add("received", size)

    def take(self) -> dict[str, int]:
        """What was counted since this was last called."""
        with self._lock:
            counted, self._counts = dict(+self._counts), Counter()
        return counted

    def _add(self, name: str, amount: int) -> None:
        with self._lock:
            self._counts[name] += amount


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """How to reach the store. Credentials come from the usual AWS chain, never from here.

    addressing   `auto` is path style for a custom endpoint, where subdomains rarely resolve
    checksums    `auto` is `when_required` for a custom endpoint: many reject the newer default
    etags        how `If-Match` is spelled: most stores take both, some one alone
    conditional  whether the store enforces conditional writes; else there may be one controller
    """

    endpoint_url: str | None = None
    region: str = "us-east-1"
    addressing: Literal["auto", "path", "virtual"] = "auto"
    checksums: Literal["auto", "when_supported", "when_required"] = "auto"
    etags: Spelling = "bare"
    conditional: bool = True

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def make_client(options: StoreOptions, connections: int) -> Any:
    """A client from a new session, so with the credentials that there are now.

    It tries nothing again: `jobs.store.patience` does, which knows of all threads.
    """
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
        retries={"mode": "standard", "total_max_attempts": 1},
        max_pool_connections=connections,
        connect_timeout=10,
        read_timeout=60,
        request_checksum_calculation=checksums,
        response_checksum_validation=checksums,
    )
    try:
        base = botocore.session.get_session()
        base.register_component("data_loader", LOADER)
        session = boto3.session.Session(botocore_session=base)
        return session.client("s3", endpoint_url=options.endpoint_url, config=config)
    except (BotoCoreError, ValueError) as error:  # no such profile, no such address
        raise UserError(f"the store's client can't be made: {error}") from error
