"""Account: a job's time on a cluster becomes entries of the ledger, and they its bill.

The eighth step of a job's life. Every claim of a job that had nodes is a tenancy with entries of
its own, also one that was set back; the job's bill is all of them.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from infra.clusters.base import NodeInterval
from jobs.cluster_record import ClusterRecord
from jobs.cost import ledger
from jobs.cost.attribution import Tenant, attribute
from jobs.cost.entry import Cuts, Entry, NodeTimes
from jobs.cost.lines import line_entries, store_lines
from jobs.cost.told import Ending, Told
from jobs.record import OfferSnapshot, Record
from jobs.settings.groups import Prices
from jobs.store.bucket import Store


@dataclass(frozen=True, slots=True)
class Tenancy:
    """A job's time on a cluster under one claim.

    record    of the job, with the epoch of the claim
    offer     that the cluster was raised at
    since     from when node time is this job's: the cluster's start, or the claim on a warm one
    told      what the workers of the epoch told
    ending    how it ended, so far
    counted   requests to the store and bytes, of the controller for this job
    prices    of the store
    setback   it ended in a setback
    """

    record: Record
    cluster_id: str
    offer: OfferSnapshot
    since: float
    told: Told = field(default_factory=Told)
    ending: Ending = field(default_factory=Ending)
    counted: Mapping[str, int] = field(default_factory=dict)
    prices: Prices = field(default_factory=Prices)
    setback: bool = False

    def on(self, cluster: ClusterRecord, until: float) -> list[Entry]:
        """The entries of the tenancy, up to `until`, on a cluster as its record tells."""
        known = replace(self, ending=replace(self.ending, drain_at=cluster.drain_at))
        heads = [known.head_entry(head, until) for head in billed_heads(cluster)]
        return [*known.entries(cluster.nodes, until), *(each for each in heads if each)]

    def entries(self, nodes: Sequence[NodeInterval], until: float) -> list[Entry]:
        """Of the nodes and of what lies beside them; a job that never had a node has none."""
        found = [entry for node in nodes for entry in self._of_node(node, nodes, until)]
        if not found:
            return []
        counted = Counter(self.counted) + Counter(self.told.requests())
        like = self._entry(until, self.setback, {"kind": "requests"})
        return [*found, *line_entries(store_lines(counted, self.prices), like)]

    def head_entry(self, head: NodeTimes, until: float) -> Entry | None:
        """Of the head, whose time is not cut by what its nodes did."""
        cuts = Cuts(ready_at=self.since, done_at=until, drain_at=self.ending.drain_at)
        [share] = attribute(head, self.offer, [Tenant(self.since, until, cuts)], is_head=True)
        told = {"kind": "head", "node": head, "cuts": cuts, **share.told()}
        return self._entry(until, self.setback, told) if share.raw else None

    def _of_node(
        self, node: NodeInterval, nodes: Sequence[NodeInterval], until: float
    ) -> Iterator[Entry]:
        ending = replace(self.ending, lost=self.setback)
        cuts, times = self.told.cuts(node, nodes, ending), NodeTimes.of(node)
        [share] = attribute(times, self.offer, [Tenant(self.since, until, cuts)])
        if not share.raw:
            return
        preempted = node.preempted and (node.left_at or until) <= until
        images, ok = self.told.rows(node, nodes)
        told = {"node": times, "cuts": cuts, "images": images, "ok": ok, **share.told()}
        told |= {"preempted": preempted, "skew_s": self.told.skew(node)}
        yield self._entry(until, self.setback or preempted, told)

    def _entry(self, until: float, setback: bool, told: Mapping[str, object]) -> Entry:
        record = self.record
        values: dict[str, object] = {
            "job_id": record.job_id,
            "epoch": record.epoch,
            "model": record.model,
            "labels": record.labels,
            "cluster_id": self.cluster_id,
            "since": self.since,
            "until": until,
            "offer": self.offer,
            "setback": setback,
        }
        return Entry.model_validate({**values, **told})


def billed_heads(cluster: ClusterRecord) -> list[NodeTimes]:
    """The head's times, unless it is known to be free; its provider is told by its record alone."""
    if not cluster.offer.provider or cluster.offer.head_usd_per_hour == 0:
        return []
    return [
        NodeTimes(
            node_id=f"{cluster.cluster_id}-head",
            launched_at=cluster.created_at,
            joined_at=cluster.created_at,
            gone_at=cluster.gone_at,
            clock="controller",
        )
    ]


def running_usd(
    nodes: Sequence[NodeInterval], offer: OfferSnapshot, since: float, until: float
) -> Decimal | None:
    """What a tenancy costs so far, of whatever class; None: the price is unknown."""
    total = Decimal(0)
    for node in nodes:
        [share] = attribute(NodeTimes.of(node), offer, [Tenant(since, until)])
        if share.usd is None:
            return None
        total += sum(share.usd.values(), Decimal(0))
    return total


def earlier_entries(store: Store, bucket: str, record: Record, now: float) -> list[Entry]:
    """What the ledger has of the claims of a job before the present one."""
    if record.epoch <= 1:
        return []
    found = ledger.entries_of(store, bucket, record.job_id, record.created_at, now)
    return [entry for entry in found if entry.epoch != record.epoch]
