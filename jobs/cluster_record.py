"""What the bucket knows of clusters: a record for each, and the name of the fleet they are of.

A record is written by whoever holds the cluster, always under the condition that nobody else has
written meanwhile: so a controller that was paused finds out that its cluster was taken from it.
"""

import json
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Literal

from infra.catalogue.billing import HOUR_S
from infra.clusters.base import NodeInterval
from jobs.addresses import ROOT, Address, clusters_root
from jobs.errors import Conflict, NotFound
from jobs.noun import Noun
from jobs.record import OfferSnapshot
from jobs.store.bucket import Store

ATTEMPTS = 5


class ClusterRecord(Noun):
    """`zeroshift/clusters/<cluster>.json`: intent, lease and node intervals.

    place    where it stands, in its provider's words: the reaper looks there
    tenant   the job whose node time runs, since the moment `since`, under the claim `epoch`
    idle     why it waits as long as it does for another job; empty until it was idle
    drain_at   when it began to go down; None: it has not, or ended otherwise
    """

    version: Literal[1] = 1
    cluster_id: str
    provider: str
    state: Literal["intended", "up", "down", "failed"]
    owner: str
    created_at: float
    lease_until: float
    gone_at: float | None = None
    checked: str = ""
    offer: OfferSnapshot
    nodes: tuple[NodeInterval, ...] = ()
    place: str = ""
    tenant: str = ""
    since: float = 0.0
    idle: str = ""
    epoch: int = 0
    drain_at: float | None = None

    def usd_of(self, nodes: Iterable[NodeInterval], now: float) -> Decimal | None:
        """What nodes of it ran so far, at their price; a bill rounds as the provider does.

        None: the price is unknown.
        """
        if self.offer.rate is None:
            return None
        end = self.gone_at or now
        seconds = sum(max(0.0, (node.gone_at or end) - node.launched_at) for node in nodes)
        return Decimal(repr(round(seconds, 3))) * self.offer.rate / HOUR_S

    def until(self, now: float) -> float:
        """When the last tenant's node time ended: with its last node, or `now` while one lives."""
        return max([self.since, *(node.gone_at or now for node in self.nodes)])


class ClusterFile:
    """A cluster's record in the bucket, as we last wrote or read it."""

    def __init__(self, store: Store, bucket: str, record: ClusterRecord, etag: str) -> None:
        self._store, self._bucket = store, bucket
        self.record, self._etag = record, etag

    @classmethod
    def create(cls, store: Store, bucket: str, record: ClusterRecord) -> "ClusterFile":
        address, body = _address(bucket, record.cluster_id), _bytes(record)
        try:
            etag = store.create(address, body)
        except Conflict:
            there, etag = store.read_tagged(address)
            if there != body:  # else it is ours: the answer to an earlier try was lost
                raise
        return cls(store, bucket, record, etag)

    @classmethod
    def load(cls, store: Store, bucket: str, cluster_id: str) -> "ClusterFile":
        body, etag = store.read_tagged(_address(bucket, cluster_id))
        return cls(store, bucket, ClusterRecord.model_validate_json(body), etag)

    def change(self, **changes: object) -> None:
        """Write the record with `changes`; `Conflict` when somebody else has written it since."""
        record = self.record.model_copy(update=changes)
        address, body = _address(self._bucket, record.cluster_id), _bytes(record)
        try:
            etag = self._store.replace(address, body, self._etag)
        except Conflict:
            there, etag = self._store.read_tagged(address)
            if there != body:  # else it is ours: the answer to an earlier try was lost
                raise
        self.record, self._etag = record, etag

    def insist(self, **changes: object) -> bool:
        """The same on whatever is there now: for what is known to be so, as that all is gone."""
        return self._insist(changes, lambda: False)

    def close(self, **changes: object) -> bool:
        """Insist, unless somebody has told meanwhile when it went: theirs holds, and is told."""
        return self._insist(changes, lambda: self.record.gone_at is not None)

    def _insist(self, changes: dict[str, object], enough: Callable[[], bool]) -> bool:
        for _ in range(ATTEMPTS):
            try:
                self.change(**changes)
                return True
            except Conflict:
                newer = self.load(self._store, self._bucket, self.record.cluster_id)
                self.record, self._etag = newer.record, newer._etag
                if enough():
                    return False
        raise Conflict(f"{self.record.cluster_id}: its record changed {ATTEMPTS} times under us")


def cluster_files(
    store: Store, bucket: str, but: Collection[str] = frozenset()
) -> Iterator[ClusterFile]:
    """Every cluster's file, except of those named in `but`."""
    for each in store.list(clusters_root(bucket)):
        cluster_id = each.address.name.removesuffix(".json")
        if cluster_id not in but:
            with suppress(NotFound):
                yield ClusterFile.load(store, bucket, cluster_id)


def cluster_records(store: Store, bucket: str) -> list[ClusterRecord]:
    """Every cluster there ever was, the newest first."""
    found = [file.record for file in cluster_files(store, bucket)]
    return sorted(found, key=lambda record: -record.created_at)


def known_fleet(store: Store, bucket: str) -> str | None:
    """The tag of the bucket's clusters; None when none was ever raised.

    Drawn once and kept in the bucket: buckets of the same name may lie in several stores, and one
    store may be reached under several addresses.
    """
    try:
        return str(json.loads(store.read(_fleet_address(bucket)))["fleet"])
    except NotFound:
        return None


def fleet_name(store: Store, bucket: str) -> str:
    """The tag of the bucket's clusters, drawn now if need be."""
    known = known_fleet(store, bucket)
    if known is None:
        drawn = json.dumps({"fleet": f"{bucket}-{uuid.uuid4().hex[:12]}"})
        with suppress(Conflict):  # somebody else was first: theirs holds
            store.create(_fleet_address(bucket), drawn.encode())
        known = known_fleet(store, bucket)
    assert known is not None, "it was written a moment ago"
    return known


def _fleet_address(bucket: str) -> Address:
    return Address(bucket, f"{ROOT}fleet.json")


def _address(bucket: str, cluster_id: str) -> Address:
    return clusters_root(bucket) / f"{cluster_id}.json"


def _bytes(record: ClusterRecord) -> bytes:
    return record.model_dump_json(indent=1).encode()
