"""Estate: the node time that no controller accounts for: a lost one's, and nobody's."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from infra.clusters.base import NodeInterval
from jobs.addresses import JobPaths
from jobs.closing.reconcile import read_markers
from jobs.cluster_record import ClusterRecord
from jobs.cost import ledger
from jobs.cost.account import Tenancy, billed_heads
from jobs.cost.books import amend
from jobs.cost.entry import Entry, NodeTimes
from jobs.cost.nobody import unclaimed
from jobs.cost.told import Ending, read_told
from jobs.errors import NotFound
from jobs.record import Record, RecordFile
from jobs.store.bucket import Store


def settle(store: Store, bucket: str, cluster: ClusterRecord, now: float) -> None:
    """Close a cluster's books: entries of the job that had it, unless its controller wrote them,
    and of what is nobody's. Again changes nothing."""
    if cluster.tenant:
        with suppress(NotFound):
            record = RecordFile(store, JobPaths.of(bucket, cluster.tenant)).load()
            until = cluster.until(now)
            tenancy = _tenancy(store, bucket, record, cluster, until)
            ledger.write(store, bucket, tenancy.on(cluster, until))
            amend(store, bucket, cluster.tenant, cluster, now)
    ledger.write(store, bucket, _nobodys(store, bucket, cluster, now))


def _tenancy(
    store: Store, bucket: str, record: Record, cluster: ClusterRecord, until: float
) -> Tenancy:
    """As the bucket tells of it: what was not committed is lost, unless the job has ended."""
    paths, epoch = JobPaths.of(bucket, record.job_id), cluster.epoch or record.epoch
    ended = record.state.ended and record.epoch == epoch
    done_at = record.entered.get(record.state.value, until) if ended else until
    return Tenancy(
        record.model_copy(update={"epoch": epoch}),
        cluster.cluster_id,
        cluster.offer,
        cluster.since,
        read_told(store, paths, epoch, read_markers(store, paths, {})),
        Ending(done_at=done_at),
        setback=not ended,
    )


def _nobodys(store: Store, bucket: str, cluster: ClusterRecord, now: float) -> Iterator[Entry]:
    """Of nodes, and of a head that is billed, that are gone."""
    for node in [*map(NodeTimes.of, cluster.nodes), *billed_heads(cluster)]:
        if node.gone_at is not None:
            last = max(now, node.gone_at)  # two clocks
            found = list(ledger.entries_on(store, bucket, node.node_id, node.launched_at, last))
            yield from unclaimed(node, cluster, found)


def merged(known: Sequence[NodeInterval], provider: Sequence[NodeInterval]) -> list[NodeInterval]:
    """Nodes by the record and by the provider, who knows better."""
    return list({node.node_id: node for node in [*known, *provider]}.values())


def closed(nodes: Sequence[NodeInterval], now: float) -> list[NodeInterval]:
    """No node of a cluster that is gone may cost anything from now on."""
    return [node if node.gone_at is not None else replace(node, gone_at=now) for node in nodes]
