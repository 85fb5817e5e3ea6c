"""Intent: what a cluster is to be, in the bucket before anything of it is created.

Whatever becomes of the controller in the next moment, the reaper finds the record and knows that
something may run, of which fleet, and whose job pays for it.
"""

import uuid

from infra.clusters.base import ClusterSpec
from infra.planner.plan import Plan
from jobs.cluster_record import ClusterFile, ClusterRecord, fleet_name
from jobs.offers import snapshot
from jobs.settings.settings import Settings
from jobs.store.bucket import Store


def intend(
    store: Store,
    settings: Settings,
    owner: str,
    plan: Plan,
    now: float,
    tenant: str,
    epoch: int = 0,
) -> tuple[ClusterSpec, ClusterFile]:
    """A new cluster's specification, and its record with a first lease; nothing runs yet."""
    offer, cluster_id = plan.offer, f"zs-{uuid.uuid4().hex[:8]}"
    spec = ClusterSpec(
        cluster_id,
        offer.max_nodes,
        plan.cpus,
        lease_s=settings.cluster_lease_s,
        lifetime_s=settings.cluster_lifetime_s,
        fleet=fleet_name(store, settings.bucket),
    )
    record = ClusterRecord(
        cluster_id=cluster_id,
        provider=offer.provider,
        state="intended",
        owner=owner,
        created_at=now,
        lease_until=now + settings.cluster_lease_s,
        offer=snapshot(offer),
        tenant=tenant,
        since=now,
        epoch=epoch,
    )
    return spec, ClusterFile.create(store, settings.bucket, record)
