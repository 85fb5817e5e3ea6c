"""Entries of a made-up job on one node, billed by the second: for tests of what reads them."""

from decimal import Decimal

from infra.clusters.base import NodeInterval
from jobs.cost.entry import Entry, NodeTimes
from jobs.record import OfferSnapshot, Record


def node_entry(
    record: Record, node: NodeInterval, ready_at: float, done_at: float, until: float
) -> Entry:
    """The job's time from the node's launch; `until` a node that still runs is billed."""
    assert isinstance(record.offer, OfferSnapshot), "a job on a node has an offer"
    began, ended = node.launched_at, node.gone_at or until
    seconds = {
        "startup": _seconds(ready_at - began),
        "work": _seconds(done_at - ready_at),
        "idle": _seconds(ended - done_at),
    }
    rate = (record.offer.usd_per_hour or Decimal(0)) / 3600
    usd = {name: (each * rate).quantize(Decimal("1e-9")) for name, each in seconds.items()}
    return Entry(
        job_id=record.job_id,
        node=NodeTimes.of(node),
        since=began,
        until=until,
        offer=record.offer,
        raw_s=seconds,
        billed_s=seconds,
        usd=usd,
    )


def _seconds(span: float) -> Decimal:
    return Decimal(round(span))
