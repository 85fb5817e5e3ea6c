"""The job's record: where it stands. Changed by compare-and-swap only, under an epoch.

The claim is part of the record: an owner, an epoch that grows with each claim, and a time until
which the lease holds. Whoever writes must still hold the epoch it claimed.
"""

from collections.abc import Callable
from typing import Literal

from pydantic import BaseModel, ConfigDict

from jobs.addresses import JobPaths
from jobs.bucket import Store
from jobs.errors import Conflict
from jobs.money import Plain
from jobs.states import State, check_move

ATTEMPTS = 20


class _Noun(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class OfferSnapshot(_Noun):
    """The price that the bill is made with, as it stood when the job was planned.

    gpu   kind of its GPUs; None: it has none
    """

    name: str
    usd_per_hour: Plain
    billing_granularity_s: int
    minimum_s: int
    catalogue_date: str
    gpu: str | None = None


class Checked(_Noun):
    """One thing that was checked before anything was paid for, and what was found."""

    gate: str
    what: str
    found: str


class Counts(_Noun):
    total: int = 0
    done: int = 0
    errors: int = 0


class Record(_Noun):
    """`zeroshift/jobs/<job>/record.json`; times are seconds since the epoch."""

    version: Literal[1] = 1
    job_id: str
    state: State = State.QUEUED
    reason: str = ""
    epoch: int = 0
    owner: str = ""
    lease_until: float = 0.0
    cancel_requested: bool = False
    created_at: float
    entered: dict[str, float] = {}
    output: str
    model: str
    counts: Counts = Counts()
    shards: int = 0
    cluster_id: str = ""
    offer: OfferSnapshot | None = None
    cost_usd: Plain | None = None
    labels: dict[str, str] = {}
    checked: tuple[Checked, ...] = ()

    def moved(self, state: State, now: float, reason: str = "") -> "Record":
        """This record in another state; `IllegalMove` when the table does not allow it."""
        check_move(self.state, state)
        entered = {**self.entered, state.value: now}
        return self.model_copy(update={"state": state, "reason": reason, "entered": entered})


class RecordFile:
    """The record in the bucket."""

    def __init__(self, store: Store, paths: JobPaths) -> None:
        self._store, self._paths = store, paths

    def create(self, record: Record) -> bool:
        """Write the first record; False when there is one already."""
        try:
            self._store.create(self._paths.record, _bytes(record))
        except Conflict:
            return False
        return True

    def load(self) -> Record:
        return self._load()[0]

    def change(self, change: Callable[[Record], Record], epoch: int | None = None) -> Record:
        """Apply `change` by compare-and-swap, again on the newer record when somebody was first.

        With `epoch`, `Conflict` as soon as the record belongs to another epoch: the caller has
        lost the job and must stop.
        """
        for _ in range(ATTEMPTS):
            old, etag = self._load()
            if epoch is not None and old.epoch != epoch:
                raise Conflict(f"{old.job_id}: taken over by {old.owner} (epoch {old.epoch})")
            new = change(old)
            if new == old:
                return old
            try:
                self._store.replace(self._paths.record, _bytes(new), etag)
                return new
            except Conflict:
                continue
        raise Conflict(f"{self._paths.job_id}: the record changed {ATTEMPTS} times under us")

    def _load(self) -> tuple[Record, str]:
        body, etag = self._store.read_tagged(self._paths.record)
        return Record.model_validate_json(body), etag


def _bytes(record: Record) -> bytes:
    return record.model_dump_json(indent=1).encode()


def claimed(record: Record, owner: str, now: float, lease_s: float) -> Record:
    """The record under a new claim, or as it is when the job is ended or somebody's lease holds."""
    free = record.owner in ("", owner) or record.lease_until < now
    if record.state.ended or not free:
        return record
    return record.model_copy(
        update={"owner": owner, "epoch": record.epoch + 1, "lease_until": now + lease_s}
    )
