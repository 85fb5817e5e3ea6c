"""Nobody's time: what of a node no job had, so that every second of it stands in the ledger."""

from collections.abc import Iterator, Sequence

from jobs.cluster_record import ClusterRecord
from jobs.cost.attribution import Tenant, attribute
from jobs.cost.entry import Cuts, Entry, NodeTimes
from jobs.cost.meter import to_ms
from jobs.stretches import without


def unclaimed(node: NodeTimes, cluster: ClusterRecord, entries: Sequence[Entry]) -> Iterator[Entry]:
    """An entry for each stretch of a node that is gone which lies in none of its `entries`."""
    assert node.gone_at is not None, "a node that is not gone is somebody's yet"
    is_head = node.node_id == f"{cluster.cluster_id}-head"
    life = (to_ms(node.launched_at), to_ms(node.gone_at))
    taken = [(to_ms(each.since), to_ms(each.until)) for each in entries]
    number = sum(each.job_id is None for each in entries)
    for begin, end in without([life], taken):
        since, until = begin / 1000, end / 1000
        cuts = Cuts(drain_at=cluster.drain_at)
        if any(stop <= begin for _, stop in taken):  # its engine had answered somebody
            cuts = Cuts(ready_at=since, done_at=since, drain_at=cluster.drain_at)
        [share] = attribute(node, cluster.offer, [Tenant(since, until, cuts)], is_head)
        told = {"kind": "head" if is_head else "node", "node": node, "cuts": cuts, **share.told()}
        values = {
            "job_id": None,
            "epoch": number,
            "cluster_id": cluster.cluster_id,
            "since": since,
            "until": until,
            "offer": cluster.offer,
        }
        yield Entry.model_validate({**values, **told})
        number += 1
