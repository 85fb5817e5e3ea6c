"""The job's record: where it stands. Changed by compare-and-swap only, under an epoch.

The claim is part of the record: an owner, an epoch that grows with each claim, and a time until
which the lease holds. Whoever writes must still hold the epoch it claimed.

The answer to a write can be lost after the write took effect, and a proxy can deliver one twice;
then the writer is told that somebody else was first, and it was itself. So each change leaves its
own id in the record, and whoever lost a race looks for its own first.
"""

import random
import time
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Literal

from pydantic import Field

from jobs.addresses import JobPaths
from jobs.errors import Conflict, StoreUnavailable
from jobs.money import Plain
from jobs.noun import Noun
from jobs.states import State, check_move
from jobs.store.bucket import Store

ATTEMPTS = 20
WRITES_KEPT = 8  # more than come between a write and its writer's next look
LONGEST_WAIT_S = 0.5


class OfferSnapshot(Noun):
    """The price and the meter that the bill is made with, as they stood when the job was planned.

    usd_per_hour    of one node, spot's where `spot`; None: unknown, and so is every amount
    billing_granularity_s   None: unknown, billed as an hour
    gpu             kind of its GPUs; None: it has none
    async_discount  share off the price, where the job was allowed to wait for it
    boot_billed     False: the meter starts when the node joins; None: unknown, from its launch
    head_usd_per_hour   of the head; None: unknown
    """

    name: str
    usd_per_hour: Plain | None
    billing_granularity_s: int | None
    minimum_s: int | None
    catalogue_date: str
    gpu: str | None = None
    provider: str = ""
    spot: bool = False
    async_discount: Plain | None = None
    boot_billed: bool | None = None
    head_usd_per_hour: Plain | None = None
    currency: Literal["USD"] = "USD"

    @property
    def rate(self) -> Decimal | None:
        """USD for an hour of one node, after the discount."""
        if self.usd_per_hour is None:
            return None
        return self.usd_per_hour * (1 - (self.async_discount or Decimal(0)))


class Checked(Noun):
    """One thing that was checked before anything was paid for, and what was found."""

    gate: str
    what: str
    found: str


class Counts(Noun):
    total: int = 0
    done: int = 0
    errors: int = 0


class Record(Noun):
    """`zeroshift/jobs/<job>/record.json`; times are seconds since the epoch.

    writes        ids of its latest changes, the newest last
    max_usd       the budget that it was resumed with; None: the manifest's
    preemptions   times that it gave shards back because a node was taken away after notice
    refused       offers that had no node to give, of those that are tried one after the other
    no_capacity_since   when none had any, for the first time since an engine answered; 0: never
    no_capacity_waits   how often it has waited since then
    hold_until    until then it may be left for another job to share its cold start
    """

    version: Literal[1] = 1
    job_id: str
    state: State = State.QUEUED
    reason: str = ""
    epoch: int = 0
    owner: str = ""
    lease_until: float = 0.0
    cancel_requested: bool = False
    created_at: float
    entered: dict[str, float] = Field(default_factory=dict)
    output: str
    model: str
    counts: Counts = Counts()
    shards: int = 0
    cluster_id: str = ""
    offer: OfferSnapshot | None = None
    cost_usd: Plain | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    checked: tuple[Checked, ...] = ()
    writes: tuple[str, ...] = ()
    setbacks: tuple[str, ...] = ()
    not_before: float = 0.0
    preemptions: int = 0
    refused: tuple[str, ...] = ()
    no_capacity_since: float = 0.0
    no_capacity_waits: int = 0
    hold_until: float = 0.0
    max_usd: Plain | None = None

    def moved(self, state: State, now: float, reason: str = "") -> "Record":
        """This record in another state; `IllegalMove` when the table does not allow it."""
        check_move(self.state, state)
        entered = {**self.entered, state.value: now}
        return self.model_copy(update={"state": state, "reason": reason, "entered": entered})


class RecordFile:
    """The record in the bucket."""

    def __init__(
        self, store: Store, paths: JobPaths, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._store, self._paths, self._sleep = store, paths, sleep

    def create(self, record: Record) -> bool:
        """Write the first record; False when there is one already, of another time or content."""
        body = _bytes(record)
        try:
            self._store.create(self._paths.record, body)
        except Conflict:
            return self._store.read(self._paths.record) == body  # our own, its answer lost
        return True

    def load(self) -> Record:
        return self._load()[0]

    def change(self, change: Callable[[Record], Record], epoch: int | None = None) -> Record:
        """Apply `change` by compare-and-swap, again on the newer record when somebody was first.

        With `epoch`, `Conflict` as soon as the record belongs to another epoch: the caller has
        lost the job and must stop. `StoreUnavailable` when too many others write at the same time.
        """
        ours = uuid.uuid4().hex
        for turn in range(ATTEMPTS):
            old, etag = self._load()
            if epoch is not None and old.epoch != epoch:
                raise Conflict(f"{old.job_id}: taken over by {old.owner} (epoch {old.epoch})")
            if ours in old.writes:
                return old
            new = change(old)
            if new == old:
                return old
            new = _signed(new, ours)
            try:
                self._store.replace(self._paths.record, _bytes(new), etag)
                return new
            except Conflict:
                self._sleep(random.uniform(0.0, min(LONGEST_WAIT_S, 0.002 * 2**turn)))
        raise StoreUnavailable(
            f"{self._paths.job_id}: the record changed {ATTEMPTS} times under us"
        )

    def _load(self) -> tuple[Record, str]:
        body, etag = self._store.read_tagged(self._paths.record)
        return Record.model_validate_json(body), etag


def _bytes(record: Record) -> bytes:
    return record.model_dump_json(indent=1).encode()


def _signed(record: Record, write: str) -> Record:
    return record.model_copy(update={"writes": (*record.writes, write)[-WRITES_KEPT:]})


def claimed(record: Record, owner: str, now: float, lease_s: float) -> Record:
    """The record under a new claim; or as it is when the job is ended, somebody's lease holds, or
    it waits after a setback."""
    free = record.owner in ("", owner) or record.lease_until < now
    if record.state.ended or not free or record.not_before > now:
        return record
    return record.model_copy(
        update={"owner": owner, "epoch": record.epoch + 1, "lease_until": now + lease_s}
    )
