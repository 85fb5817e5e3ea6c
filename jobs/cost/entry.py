"""The ledger's noun: what a job's tenancy on a node took and cost; never changed once written.

Every second that a provider bills stands in exactly one entry, under exactly one class. What is no
node's time (requests to the store, egress, tokens of an endpoint) has an entry of its own kind,
with a quantity and a unit. An amount that can't be known is None, which is not 0.
"""

import json
from decimal import Decimal
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from infra.clusters.base import NodeInterval
from jobs.cost.shares import share
from jobs.money import Plain
from jobs.noun import Noun
from jobs.record import OfferSnapshot

CLASSES = ("startup", "model_load", "work", "input_wait", "wasted", "idle", "teardown")
KINDS = ("node", "head", "requests", "storage", "egress", "tokens")
Kind = Literal["node", "head", "requests", "storage", "egress", "tokens"]
NOBODY = "none"  # in the name of an entry that is no job's
OLD_CLASSES = ("startup", "work", "idle")  # of version 1
Stretch = tuple[float, float]


class _Finite(Noun):
    model_config = ConfigDict(allow_inf_nan=False)


class NodeTimes(_Finite):
    """One node's life, in seconds since the epoch.

    joined_at   when the cluster had it; None: not known, or never
    left_at     when the cluster lost it, which is before the provider ends it
    gone_at     None: it still ran when the entry was written
    clock       whose clock the times are of
    """

    node_id: str
    launched_at: float
    joined_at: float | None = None
    left_at: float | None = None
    gone_at: float | None = None
    clock: Literal["provider", "controller"] = "provider"

    @classmethod
    def of(cls, node: NodeInterval) -> Self:
        """From what a cluster says; what it does not say is not known."""
        return cls(
            node_id=node.node_id,
            launched_at=node.launched_at,
            joined_at=node.joined_at,
            left_at=node.left_at,
            gone_at=node.gone_at,
        )


class Cuts(_Finite):
    """What classes were told by, in seconds since the epoch by the controller's clock.

    loading_at   when the node began to load the model; None: never, or not known
    ready_at     when the engine answered; None: never
    done_at      when the last row was written, or the job was stopped; None: never
    drain_at     when the node, or its cluster, began to go down
    work         stretches in which the engine was busy with rows that count
    wasted       stretches of work whose rows do not count
    """

    loading_at: float | None = None
    ready_at: float | None = None
    done_at: float | None = None
    drain_at: float | None = None
    work: tuple[Stretch, ...] = ()
    wasted: tuple[Stretch, ...] = ()


class Entry(_Finite):
    """`zeroshift/ledger/YYYY/MM/DD/<job>-<node>-<epoch>.json`; the day is that of `until`, in UTC.

    kind       what it is for; nodes and heads have `node`, the others `quantity`, `unit`, `price`
    job_id     None: nobody's, as a cluster's time without a job is
    epoch      of the claim under which the job had the node
    since      and `until`: the tenancy, in seconds since the epoch
    images     and `ok`: rows of the job in this tenancy; 0 where another entry tells them
    price      USD for one unit; None: unknown
    raw_s      seconds that the node really ran, by class
    billed_s   the same by the provider's meter: differences of its readings, so that the tenancies
               of a node sum to the node exactly
    usd        by class, or under the kind's name; None: the price is unknown
    setback    this tenancy ended in a setback or a preemption
    preempted  the provider took the node away
    skew_s     by how much the worker's clock was ahead of the controller's, where it was noticed
    """

    version: Literal[2] = 2
    kind: Kind = "node"
    job_id: str | None
    epoch: int = 0
    model: str = ""
    labels: dict[str, str] = Field(default_factory=dict)
    cluster_id: str = ""
    node: NodeTimes | None = None
    since: float
    until: float
    offer: OfferSnapshot
    images: int = 0
    ok: int = 0
    quantity: Plain | None = None
    unit: str = ""
    price: Plain | None = None
    raw_s: dict[str, Plain] = Field(default_factory=dict)
    billed_s: dict[str, Plain] = Field(default_factory=dict)
    usd: dict[str, Plain] | None = None
    cuts: Cuts = Cuts()
    setback: bool = False
    preempted: bool = False
    skew_s: float = 0.0

    @model_validator(mode="after")
    def _classes(self) -> Self:
        unknown = {*self.raw_s, *self.billed_s}.difference(CLASSES)
        unknown |= set(self.usd or ()).difference(CLASSES, KINDS)
        if unknown:
            raise ValueError(f"found class {sorted(unknown)[0]!r}; allowed: {', '.join(CLASSES)}")
        if (self.node is None) != (self.kind not in ("node", "head")):
            raise ValueError(f"found kind {self.kind!r}; allowed: node times with node or head")
        return self

    @property
    def amount(self) -> Decimal | None:
        """USD in all; None: the price is unknown."""
        return None if self.usd is None else sum(self.usd.values(), Decimal(0))

    @property
    def seconds(self) -> Decimal:
        """Billed seconds in all; 0 for what is no node's time."""
        return sum(self.billed_s.values(), Decimal(0))

    @property
    def name(self) -> str:
        """Of its object: always the same for a tenancy, so writing it twice changes nothing."""
        what = self.node.node_id if self.node is not None else self.unit.replace(" ", "-")
        return f"{self.job_id or NOBODY}-{what}-{self.epoch}.json"


def read_entry(body: bytes | str) -> Entry:
    """The entry in an object's text, of this version or the one before; `ValueError` if neither."""
    found = json.loads(body)
    if not isinstance(found, dict):
        raise ValueError("not an entry of the ledger: no JSON object")
    if found.get("version") == 1:
        return _from_version_1(found)
    return Entry.model_validate_json(body)


def _from_version_1(found: dict[str, Any]) -> Entry:
    """Version 1 knew three classes, an amount for all of them, and no epoch."""
    try:
        given = {name: Decimal(found["seconds"].get(name, "0")) for name in OLD_CLASSES}
        usd = _old_amounts(Decimal(found["usd"]), given)
        kept = {name: found[name] for name in ("job_id", "cluster_id", "since", "until", "offer")}
        return Entry.model_validate(
            {**kept, "node": found["node"], "raw_s": {}, "billed_s": given, "usd": usd}
        )
    except (KeyError, AttributeError, ArithmeticError) as error:
        raise ValueError(f"not an entry of version 1: {error!r}") from error


def _old_amounts(usd: Decimal, seconds: dict[str, Decimal]) -> dict[str, Decimal]:
    return dict(zip(OLD_CLASSES, share(usd, list(seconds.values())), strict=True))
