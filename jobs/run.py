"""One job from claim to account: plan, raise, work, close, account.

Everything that changes the record does so under the epoch of the claim; when somebody else has
taken the job over, the first write says so and this run stops.
"""

import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from infra.clusters.base import WorkerProcess
from infra.errors import ClusterError
from infra.planner.plan import Plan
from jobs.account import Tenancy, write_ledger, write_receipt
from jobs.addresses import Address, JobPaths
from jobs.bucket import Store
from jobs.close import Closing, Totals, read_markers
from jobs.commonest import commonest
from jobs.errors import JobFailed, TemporaryError, ZeroshiftError
from jobs.fleet import Fleet, Raised
from jobs.history import remember
from jobs.limits import Limits
from jobs.manifest import Manifest
from jobs.offers import snapshot
from jobs.order import Attempt, Marker, PictureLimits
from jobs.orders import make_order
from jobs.pin import pin
from jobs.planning import plan_for
from jobs.queue import dequeue
from jobs.reachable import check_reachable
from jobs.record import Counts, Record, RecordFile
from jobs.report.closing import report_at_close
from jobs.residency import residency_gate
from jobs.setbacks import Setback, wait_s
from jobs.settings import Settings
from jobs.stall import check_stall
from jobs.states import State
from jobs.submission import load_manifest


class Stopped(Exception):
    """The job is to end in `state` for `reason`: cancelled, over budget, hopeless."""

    def __init__(self, state: State, reason: str) -> None:
        super().__init__(reason)
        self.state, self.reason = state, reason


@dataclass
class JobRun:
    """The run of one claimed job; `run` is the flow, the other methods are its steps."""

    store: Store
    settings: Settings
    fleet: Fleet
    paths: JobPaths
    record: Record
    engine: str = "vllm"
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        self.file = RecordFile(self.store, self.paths)
        self.epoch = self.record.epoch
        self.raised: Raised | None = None
        self.markers: dict[int, Marker] = {}

    def run(self) -> Record:
        """Run to an end state; `Conflict` when the job belongs to another controller now.

        `StoreUnavailable` leaves the job as it is: it is claimed again when the store is back.
        """
        try:
            manifest, plan = self.plan()
            self.raise_cluster(plan)
            self.work(manifest, plan)
            self.close()
        except Stopped as stop:
            self.end(stop.state, stop.reason)
        except TemporaryError:
            raise  # lost to another controller, or the store is away: nothing more can be written
        except ZeroshiftError as error:
            self.end(State.FAILED, str(error))
        except (Setback, ClusterError) as fault:
            self.set_back(str(fault))
        except KeyboardInterrupt:
            self.hand_back()
            raise
        finally:
            self.fleet.release(self.clock(), keep_logs=self.record.state is State.FAILED)
        return self.record

    def set_back(self, reason: str) -> None:
        """Back to the queue after a fault of infrastructure; the end, when there were too many."""
        before = self.record.setbacks
        if len(before) >= self.settings.max_setbacks:
            more = f" (after {len(before)} setbacks: {'; '.join(before)})" if before else ""
            self.end(State.FAILED, f"{reason}{more}")
            return
        self.hand_back(
            f"set back: {reason}",
            setbacks=(*before, reason),
            not_before=self.clock() + wait_s(len(before)),
        )
        self.fleet.rest()

    def hand_back(self, reason: str = "handed back", **changes: object) -> None:
        """Give the claim up: whoever claims the job next goes on from its committed shards.

        The node time goes into the ledger; the job's receipt will tell of its last cluster alone.
        """
        if self.raised is not None:
            self.fleet.settle_with(partial(self.write_off, self.tenancy(), self.raised))
        self.move(State.QUEUED, reason)
        self.change(owner="", lease_until=0.0, **changes)

    def write_off(self, tenancy: Tenancy, raised: Raised, until: float) -> None:
        write_ledger(self.store, self.settings.bucket, tenancy, raised.record, until)

    def plan(self) -> tuple[Manifest, Plan]:
        """Pin the inputs and plan; what was written by an earlier epoch is kept."""
        self.move(State.PLANNING)
        if self.record.cancel_requested:
            raise Stopped(State.CANCELLED, "cancelled by the user")
        manifest = load_manifest(self.store, self.paths)
        plan = plan_for(manifest, self.settings)
        self.check_residency(manifest, plan)
        if self.record.shards == 0:
            size = self.settings.shard_size
            total, shards = pin(self.store, self.paths, manifest.inputs, size)
            if total == 0:
                raise JobFailed("there are no inputs")
            self.change(counts=Counts(total=total), shards=shards, offer=snapshot(plan.offer))
        check_reachable(self.store, self.paths, self.record.shards, self.settings.max_denied)
        limits = PictureLimits(**self.settings.pictures.model_dump())
        order = make_order(self.record, manifest, plan, limits)
        self.store.write(self.paths.order, order.model_dump_json(indent=1).encode())
        return manifest, plan

    def check_residency(self, manifest: Manifest, plan: Plan) -> None:
        """Again, since a local node stands here, and whoever submitted the job may not."""
        here = residency_gate(self.store, manifest, plan.offer, self.settings.bucket)
        if here:
            others = [each for each in self.record.checked if each.gate != "residency"]
            self.change(checked=(*others, *here))

    def raise_cluster(self, plan: Plan) -> None:
        self.move(State.PROVISIONING)
        self.raised = self.fleet.acquire(plan, self.clock(), self.record.job_id)
        self.change(cluster_id=self.raised.cluster.cluster_id)

    def work(self, manifest: Manifest, plan: Plan) -> None:
        """Drive the shards and watch: progress, cancellation, budget, error rate."""
        assert self.raised is not None, "work() follows raise_cluster()"
        self.move(State.RUNNING)
        limits = Limits(manifest.budget, manifest.on_error, self.clock())
        environment = {"ZEROSHIFT_STORE": json.dumps(self.store.options.to_dict())}
        arguments = ["work", str(self.paths.root), "--epoch", str(self.epoch)]
        process = self.raised.cluster.launch(
            [*arguments, "--engine", self.engine], environment, self.raised.log
        )
        try:
            while self._wait(process) is None:
                self.observe(limits)
            self.observe(limits)
        finally:
            self.raised.cluster.stop(process)
        status = process.poll()
        if status != 0 and self.attempt().error is None:
            raise Setback(f"the driver ended with status {status}; its log: {self.raised.log}")
        if status != 0:
            raise JobFailed(str(self.attempt().error))

    def _wait(self, process: WorkerProcess) -> int | None:
        try:
            return process.wait(self.settings.poll_s)
        except subprocess.TimeoutExpired:
            return None

    def observe(self, limits: Limits) -> None:
        """Write progress into the record; `Stopped` when the job must not go on."""
        assert self.raised is not None, "only a raised cluster is observed"
        self.markers = read_markers(self.store, self.paths, self.markers)
        counts = Counts(
            total=self.record.counts.total,
            done=sum(marker.rows for marker in self.markers.values()),
            errors=sum(marker.errors for marker in self.markers.values()),
        )
        cost = self.tenancy().bill(self.raised.cluster.nodes(), self.clock()).usd
        self.change(counts=counts, cost_usd=cost)
        if self.record.cancel_requested:
            raise Stopped(State.CANCELLED, "cancelled by the user")
        stop = limits.exceeded(counts, cost, self.clock())
        if stop is not None:
            raise Stopped(stop[0], self._explained(*stop))
        if not self.raised.cluster.alive():
            raise Setback(self.raised.cluster.end_reason() or "the head of the cluster ended")
        ready_at = self.attempt().ready_at
        self.fleet.check_start(ready_at, self.clock())
        self._check_stall(ready_at)

    def _explained(self, state: State, reason: str) -> str:
        """A hopeless job's reason, with what went wrong most."""
        if state is not State.FAILED:
            return reason
        common = commonest(self.store, self.paths, self.markers)
        return f"{reason}; commonest: {common}" if common else reason

    def _check_stall(self, ready_at: float | None) -> None:
        assert self.raised is not None, "only a raised cluster can stall"
        if ready_at is not None:
            last = max((marker.ended_at for marker in self.markers.values()), default=ready_at)
            idle_s = self.clock() - max(last, ready_at)
            dump = self.paths.root / f"stalls/{self.epoch:05d}.txt"
            check_stall(self.store, dump, self.raised.log, idle_s, self.settings.stall_s)

    def tenancy(self, done_at: float | None = None) -> Tenancy:
        assert self.raised is not None, "only a raised cluster has tenants"
        return Tenancy(self.record, self.raised.since, self.attempt().ready_at, done_at)

    def attempt(self) -> Attempt:
        try:
            return Attempt.model_validate_json(self.store.read(self.paths.attempt(self.epoch)))
        except ZeroshiftError:
            return Attempt(epoch=self.epoch)

    def close(self) -> None:
        """Write reconciled results and receipt, then the success marker."""
        self.move(State.FINALIZING)
        errors, total = self.record.counts.errors, self.record.counts.total
        if errors:
            self.publish(State.COMPLETED_WITH_ERRORS, f"{errors} of {total} pictures failed")
        else:
            self.publish(State.COMPLETED, "")

    def end(self, state: State, reason: str) -> None:
        """End without a success marker; what rows there are stay, and are published."""
        if self.raised is not None:
            self.markers = read_markers(self.store, self.paths, self.markers)
            self.publish(state, reason)
        else:
            self.move(state, reason)
            dequeue(self.store, self.settings.bucket, self.record.job_id)

    def publish(self, state: State, reason: str) -> None:
        """Write rows and a receipt with the bill so far, then enter the end state."""
        assert self.raised is not None, "only a job that had a cluster is published"
        now = self.clock()
        done_at = max((marker.ended_at for marker in self.markers.values()), default=now)
        tenancy = self.tenancy(done_at)
        bill = tenancy.bill(self.raised.cluster.nodes(), now)
        closing = self.closing()
        totals = closing.write(bill.costs["work"], whole=state.succeeded)
        tenancy = replace(tenancy, record=self.record.moved(state, now, reason))
        self.fleet.write_nodes()
        write_receipt(closing.fence(), tenancy, totals, self.raised.record, bill, final=False)
        report_at_close(closing.fence(), self.paths, closing.output)
        if state.succeeded:
            closing.succeed(self.record.job_id)
        self.change(cost_usd=bill.usd)
        self.move(state, reason)
        dequeue(self.store, self.settings.bucket, self.record.job_id)
        self.fleet.settle_with(partial(self.account, tenancy, totals, self.raised))

    def closing(self) -> Closing:
        output = Address.parse(self.record.output)
        return Closing(self.store, self.paths, output, self.record.shards, self.change)

    def account(self, tenancy: Tenancy, totals: Totals, raised: Raised, until: float) -> None:
        """The final bill, when the cluster is gone or another job has begun on it."""
        cluster = raised.record
        bill = tenancy.bill(cluster.nodes, until)
        write_receipt(self.store, tenancy, totals, cluster, bill, final=True)
        write_ledger(self.store, self.settings.bucket, tenancy, cluster, until)
        remember(self.store, self.settings.bucket, tenancy.record, totals, bill, until)
        self.change(cost_usd=bill.usd)

    def move(self, state: State, reason: str = "") -> None:
        now = self.clock()
        self.record = self.file.change(lambda old: old.moved(state, now, reason), self.epoch)

    def change(self, **changes: object) -> None:
        self.record = self.file.change(lambda old: old.model_copy(update=changes), self.epoch)
