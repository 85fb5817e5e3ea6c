"""Clusters with their leases and nodes, and the controllers that are there."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from infra.clusters.base import NodeInterval
from jobs.cluster_record import ClusterRecord, cluster_records
from jobs.console.guard import Looking, Viewer
from jobs.console.pages import PageRoute, page
from jobs.console.parts import live
from jobs.control.presence import present

router = APIRouter(route_class=PageRoute, include_in_schema=False)
MOST = 50
HOUR_S = 3600


@dataclass(frozen=True, slots=True)
class Place:
    """A cluster at a moment."""

    record: ClusterRecord
    now: float

    @property
    def is_up(self) -> bool:
        return self.record.gone_at is None and self.record.state in ("intended", "up")

    @property
    def lease_s(self) -> float:
        """Seconds that its lease still holds; below 0 since when it does not."""
        return self.record.lease_until - self.now

    @property
    def age_s(self) -> float:
        return max(0.0, (self.record.gone_at or self.now) - self.record.created_at)

    @property
    def living(self) -> int:
        return sum(node.gone_at is None for node in self.record.nodes) if self.is_up else 0

    @property
    def usd(self) -> Decimal | None:
        return self.usd_of(self.record.nodes)

    def usd_of(self, nodes: Sequence[NodeInterval]) -> Decimal | None:
        return self.record.usd_of(nodes, self.now)


@router.get("/clusters")
def clusters(viewer: Looking) -> Response:
    return page("clusters", viewer, **_seen(viewer))


@router.get("/live/clusters")
def live_clusters(viewer: Looking) -> Response:
    return live("_clusters", viewer, lambda: _seen(viewer))


def _seen(viewer: Viewer) -> dict[str, Any]:
    here, now = viewer.context, time.time()
    found = [Place(record, now) for record in cluster_records(here.store, here.bucket)]
    return {
        "up": [place for place in found if place.is_up],
        "gone": [place for place in found if not place.is_up][:MOST],
        "controllers": present(here.store, here.bucket),
    }
