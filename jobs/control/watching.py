"""Watching: what the controller sees of a job at work, and when the job must not go on.

Part of the sixth step of a job's life. It reads commit markers and the worker's report, writes
progress into the record, and starts and ends nothing itself.
"""

from dataclasses import dataclass, field
from decimal import Decimal

from jobs.closing.commonest import commonest
from jobs.closing.reconcile import read_markers
from jobs.clusters.fleet import Fleet, Raised
from jobs.control.budget_watch import BudgetKeeper, Seen, living, shard_seconds
from jobs.control.earlier import Earlier
from jobs.control.held_job import HeldJob
from jobs.control.limits import Limits
from jobs.control.setbacks import Setback
from jobs.control.stall import check_stall
from jobs.cost.account import Tenancy, running_usd
from jobs.cost.budgets import Verdict
from jobs.cost.told import Ending, read_told
from jobs.order import Marker
from jobs.record import Counts, Record
from jobs.settings.groups import Prices
from jobs.states import State


class Stopped(Exception):
    """The job is to end in `state` for `reason`: cancelled, over budget, hopeless."""

    def __init__(self, state: State, reason: str) -> None:
        super().__init__(reason)
        self.state, self.reason = state, reason


def check_wanted(record: Record, max_usd: Decimal | None, keeper: BudgetKeeper | None) -> None:
    """Before a cluster is paid for: `Stopped` when the job was cancelled, or has no money left."""
    if record.cancel_requested:
        raise Stopped(State.CANCELLED, "by the user")
    empty = keeper.empty(record, max_usd) if keeper is not None else None
    if empty is not None:
        raise Stopped(State.OVER_BUDGET, empty)


@dataclass
class Watch:
    """The watch over one job on one cluster; `markers` are the shards committed so far.

    stall_s   seconds without a commit that count as a stall
    prices    of the store
    earlier   what the job's earlier claims cost
    winding_down   why no further shard is begun; empty while there is no reason
    """

    job: HeldJob
    fleet: Fleet
    raised: Raised
    stall_s: float
    earlier: Earlier
    markers: dict[int, Marker] = field(default_factory=dict)
    prices: Prices = field(default_factory=Prices)
    keeper: BudgetKeeper | None = None
    winding_down: str = ""

    def observe(self, limits: Limits) -> None:
        """Write progress into the record; `Stopped` when the job must not go on."""
        self.look()
        counts = Counts(
            total=self.job.record.counts.total,
            done=sum(marker.rows for marker in self.markers.values()),
            errors=sum(marker.errors for marker in self.markers.values()),
        )
        cost = self.cost_so_far()
        self.job.change(counts=counts, cost_usd=cost, **self._has_capacity())
        if self.job.record.cancel_requested:
            raise Stopped(State.CANCELLED, "by the user")
        stop = limits.exceeded(counts, self.job.clock())
        if stop is not None:
            raise Stopped(stop[0], self._explained(*stop))
        self._hold_to_budgets(cost, limits.max_usd)
        self._check_cluster()

    def _has_capacity(self) -> dict[str, object]:
        """Once an engine has answered, refusals before it are history."""
        if self.raised.ready_at is None:
            return {}
        return {"refused": (), "no_capacity_since": 0.0, "no_capacity_waits": 0}

    def look(self) -> None:
        """Read the markers that were written since the last look."""
        self.markers = read_markers(self.job.store, self.job.paths, self.markers)

    def done_at(self) -> float | None:
        """When the last row was written; None: there is none."""
        return max((marker.ended_at for marker in self.markers.values()), default=None)

    def cost_so_far(self) -> Decimal | None:
        """USD of all the job's claims; None: a price is unknown."""
        raised, before = self.raised, self.earlier.usd()
        nodes, now = raised.cluster.nodes(), self.job.clock()
        here = running_usd(nodes, raised.record.offer, raised.since, now)
        return None if here is None or before is None else before + here

    def tenancy(self, done_at: float | None = None, setback: bool = False) -> Tenancy:
        """The job's time on its cluster; `done_at` None: it was done with its last row."""
        job, raised = self.job, self.raised
        return Tenancy(
            job.record,
            raised.cluster.cluster_id,
            raised.record.offer,
            raised.since,
            read_told(job.store, job.paths, job.epoch, self.markers),
            Ending(done_at),
            job.store.requests.take(),
            self.prices,
            setback,
        )

    @property
    def all_committed(self) -> bool:
        return len(self.markers) >= self.job.record.shards

    def _hold_to_budgets(self, cost: Decimal | None, max_usd: Decimal | None) -> None:
        """Wind down while there is money for what is in flight, stop when there is none.

        A cost that is unknown is held to no budget, and a job whose work is done is not stopped.
        """
        before = self.earlier.usd()
        if self.keeper is None or cost is None or before is None or self.all_committed:
            return
        raised, now = self.raised, self.job.clock()
        here = [each for each in self.markers.values() if each.epoch == self.job.epoch]
        shard_s, nodes = shard_seconds(here, raised.ready_at, now), living(raised.cluster.nodes())
        offer, record = raised.record.offer, self.job.record
        seen = Seen(record, cost, before, raised.since, offer, nodes, shard_s)
        found = self.keeper.judge(seen, max_usd)
        if found.verdict is Verdict.STOP:
            raise Stopped(State.OVER_BUDGET, found.reason)
        if found.verdict is Verdict.WIND_DOWN and not self.winding_down:
            self.winding_down = found.reason
            self.job.store.write(self.job.paths.wind_down_of(self.job.epoch), b"")

    def _explained(self, state: State, reason: str) -> str:
        """A hopeless job's reason, with what went wrong most."""
        if state is not State.FAILED:
            return reason
        common = commonest(self.job.store, self.job.paths, self.markers)
        return f"{reason}; commonest: {common}" if common else reason

    def _check_cluster(self) -> None:
        """Head, start and stall: a fault of each is a `Setback`, or a `ClusterError`."""
        if not self.raised.cluster.alive():
            raise Setback(self.raised.cluster.end_reason() or "the head of the cluster ended")
        ready_at = self.job.attempt().ready_at
        if self.raised.ready_at is None:
            self.raised.ready_at = ready_at
        self.fleet.check_start(ready_at, self.job.clock())
        if ready_at is not None:
            self._check_stall(ready_at)

    def _check_stall(self, ready_at: float) -> None:
        idle_s = self.job.clock() - max(self.done_at() or ready_at, ready_at)
        dump = self.job.paths.root / f"stalls/{self.job.epoch:05d}.txt"
        check_stall(self.job.store, dump, self.raised.log, idle_s, self.stall_s)
