"""Estate: the node time of a cluster whose controller can't account for it any more."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from infra.clusters.base import NodeInterval
from jobs.addresses import JobPaths
from jobs.bucket import Store
from jobs.cluster_record import ClusterRecord
from jobs.cost.account import Tenancy, write_ledger
from jobs.errors import NotFound
from jobs.order import Attempt
from jobs.record import RecordFile


def settle(store: Store, bucket: str, cluster: ClusterRecord, now: float) -> None:
    """Write the ledger's entries of the job that the cluster worked; again changes nothing."""
    if not cluster.tenant:
        return
    paths = JobPaths.of(bucket, cluster.tenant)
    with suppress(NotFound):
        job = RecordFile(store, paths).load().model_copy(update={"offer": cluster.offer})
        until = max([cluster.since, *(node.gone_at or now for node in cluster.nodes)])
        ready = [at for at in _ready(store, paths) if cluster.since <= at <= until]
        tenancy = Tenancy(job, cluster.since, min(ready, default=None))
        write_ledger(store, bucket, tenancy, cluster, until)


def _ready(store: Store, paths: JobPaths) -> Iterator[float]:
    """When the engines of the job's attempts answered."""
    for each in store.list(paths.root / "attempts/"):
        ready_at = Attempt.model_validate_json(store.read(each.address)).ready_at
        if ready_at is not None:
            yield ready_at


def merged(known: Sequence[NodeInterval], provider: Sequence[NodeInterval]) -> list[NodeInterval]:
    """Nodes by the record and by the provider, who knows better."""
    return list({node.node_id: node for node in [*known, *provider]}.values())


def closed(nodes: Sequence[NodeInterval], now: float) -> list[NodeInterval]:
    """No node of a cluster that is gone may cost anything from now on."""
    return [node if node.gone_at is not None else replace(node, gone_at=now) for node in nodes]
