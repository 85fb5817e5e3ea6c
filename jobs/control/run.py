"""One job from claim to account: plan, raise, work, close, account.

Everything that changes the record does so under the epoch of the claim; when somebody else has
taken the job over, the first write says so and this run stops.
"""

import json
import logging
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NoReturn

from infra.clusters.base import WorkerProcess
from infra.errors import ClusterError, NoCapacity
from infra.planner.plan import Plan
from jobs.clusters.estate import settle
from jobs.clusters.fleet import Fleet, Raised
from jobs.control.budget_watch import BudgetKeeper
from jobs.control.earlier import Earlier
from jobs.control.held_job import HeldJob
from jobs.control.limits import Limits
from jobs.control.publishing import Publishing
from jobs.control.resume import budget_of
from jobs.control.setbacks import HANDED_BACK, DriverDied, Preempted, Setback, notice_s
from jobs.control.watching import Stopped, Watch, check_wanted
from jobs.control.way_back import WayBack
from jobs.cost.account import Tenancy, earlier_entries
from jobs.cost.books import amend, settle_tenancy
from jobs.cost.entry import Entry
from jobs.disk import disk_fault
from jobs.errors import JobFailed, TemporaryError, ZeroshiftError
from jobs.inputs.pin import pin
from jobs.inputs.reachable import check_reachable
from jobs.manifest.manifest import Manifest
from jobs.offers import snapshot
from jobs.order import PictureLimits
from jobs.plurals import counted
from jobs.queue import dequeue
from jobs.record import Counts, Record
from jobs.settings.settings import Settings
from jobs.states import State
from jobs.submit.orders import make_order
from jobs.submit.planning import plans_for
from jobs.submit.residency import residency_gate
from jobs.submit.submission import load_manifest

log = logging.getLogger("zeroshift")


@dataclass
class JobRun:
    """The run of one claimed job; `flow` is its course, the other methods are its steps.

    watch         over the job on its cluster; None: it has none yet
    offers_left   that have not refused, the one that is tried included
    """

    job: HeldJob
    settings: Settings
    fleet: Fleet
    engine: str = "vllm"
    watch: Watch | None = None
    pause: Callable[[float], object] = time.sleep
    keeper: BudgetKeeper | None = None
    offers_left: int = 1

    def __post_init__(self) -> None:
        self.store, self.paths, self.clock = self.job.store, self.job.paths, self.job.clock
        self.publishing = Publishing(self.job, self.settings, self.fleet)
        self.way_back = WayBack(self.job, self.settings, self.fleet, self.end, self.write_off_later)

    @property
    def record(self) -> Record:
        return self.job.record

    def run(self) -> Record:
        """Run to an end state; `Conflict` when the job belongs to another controller now.

        `StoreUnavailable` leaves the job as it is: it is claimed again when the store is back.
        """
        self.store.requests.take()  # from here on they are this job's
        try:
            self.flow()
        except TemporaryError:  # lost to another, or the store is away: nothing can be written now
            self.write_off_as_told()
            raise
        finally:
            self.fleet.release(self.clock(), keep_logs=self.record.state is State.FAILED)
        return self.record

    def flow(self) -> None:
        try:
            manifest, plan = self.plan()
            watch = self.raise_cluster(plan)
            self.work(manifest, watch)
            self.close(watch)
        except Stopped as stop:
            self.end(stop.state, stop.reason)
        except TemporaryError:
            raise
        except ZeroshiftError as error:
            self.end(State.FAILED, str(error))
        except Preempted as notice:
            self.way_back.hand_on(str(notice), preemptions=self.record.preemptions + 1)
        except DriverDied as fault:
            self.way_back.set_back(str(fault), goes_on=self.can_go_on())
        except NoCapacity as refusal:
            self.way_back.look_elsewhere(str(refusal), self.offers_left)
        except (Setback, ClusterError) as fault:
            self.way_back.set_back(str(fault))
        except OSError as fault:  # of the work folder, or of the table before it is uploaded
            self.way_back.set_back(disk_fault(fault, self.settings.work_dir))
        except KeyboardInterrupt:
            log.info("%s: going back to the queue", self.record.job_id)
            self.way_back.hand_back(setback=False)
            raise
        except Exception as bug:  # let through, it would end every controller that takes the job
            log.exception("%s", self.record.job_id)
            self.give_up(f"a bug: {type(bug).__name__}; the controller's log says more")

    def give_up(self, reason: str) -> None:
        """End as failed, published where that can be done."""
        try:
            self.end(State.FAILED, reason)
        except ZeroshiftError:
            raise
        except Exception:  # most likely the same again
            log.exception("%s: not published", self.record.job_id)
            self.write_off_as_told()
            self.leave(State.FAILED, reason)

    def can_go_on(self) -> bool:
        """Whether the cluster is above suspicion: a driver's first death is the driver's own."""
        raised = self.watch.raised if self.watch is not None else None
        if raised is None or raised.driver_died or not raised.sound:
            return False
        raised.driver_died = True
        return True

    def write_off_later(self, setback: bool = False) -> None:
        """Let the node time go into the ledger when it ends, as a tenancy of its own."""
        if self.watch is not None:
            self.watch.look()
            tenancy = self.watch.tenancy(self.clock(), setback)
            self.fleet.settle_with(partial(self.write_off, tenancy, self.watch.raised))

    def write_off_as_told(self) -> None:
        """The same by what the bucket tells when the time has ended: now it may not answer."""
        if self.watch is not None:
            raised, bucket = self.watch.raised, self.settings.bucket
            self.fleet.settle_with(lambda until: settle(self.store, bucket, raised.record, until))

    def write_off(self, tenancy: Tenancy, raised: Raised, until: float) -> None:
        bucket, cluster = self.settings.bucket, raised.record
        settle_tenancy(self.store, bucket, tenancy, cluster, until)
        amend(self.store, bucket, tenancy.record.job_id, cluster, until)

    def plan(self) -> tuple[Manifest, Plan]:
        """Pin the inputs and plan; what was written by an earlier epoch is kept."""
        self.job.move(State.PLANNING)
        manifest = load_manifest(self.store, self.paths)
        check_wanted(self.record, budget_of(self.record, manifest), self.keeper)
        plan = self.next_plan(manifest)
        self.check_residency(manifest, plan)
        if self.record.shards == 0:
            size = self.settings.shard_size
            total, shards = pin(self.store, self.paths, manifest.inputs, size)
            if total == 0:
                raise JobFailed("there are no inputs")
            self.job.change(counts=Counts(total=total), shards=shards)
        check_reachable(self.store, self.paths, self.record.shards, self.settings.max_denied)
        limits = PictureLimits(**self.settings.pictures.model_dump())
        order = make_order(self.record, manifest, plan, limits, self.clock())
        self.store.write(self.paths.order, order.model_dump_json(indent=1).encode())
        return manifest, plan

    def next_plan(self, manifest: Manifest) -> Plan:
        """That of the first offer that has not refused."""
        plans = plans_for(manifest, self.settings)
        left = [each for each in plans if each.offer.name not in self.record.refused] or plans
        self.offers_left = len(left)
        return left[0]

    def check_residency(self, manifest: Manifest, plan: Plan) -> None:
        """Again, since a local node stands here, and whoever submitted the job may not."""
        here = residency_gate(self.store, manifest, plan.offer, self.settings.bucket)
        if here:
            others = [each for each in self.record.checked if each.gate != "residency"]
            self.job.change(checked=(*others, *here))

    def raise_cluster(self, plan: Plan) -> Watch:
        claimed = self.record
        self.job.move(State.PROVISIONING)
        self.job.change(offer=snapshot(plan.offer))
        raised = self.fleet.acquire(plan, self.clock(), self.record.job_id, self.job.epoch)
        self.watch = Watch(
            self.job,
            self.fleet,
            raised,
            self.settings.stall_s,
            Earlier(self.earlier_entries, claimed, self.clock),
            prices=self.settings.prices,
            keeper=self.keeper,
        )
        self.job.change(cluster_id=raised.cluster.cluster_id)
        return self.watch

    def earlier_entries(self) -> list[Entry]:
        return earlier_entries(self.store, self.settings.bucket, self.record, self.clock())

    def work(self, manifest: Manifest, watch: Watch) -> None:
        """Drive the shards and watch: progress, cancellation, budget, error rate."""
        self.job.move(State.RUNNING)
        self.job.change(done_before=self.record.counts.done, usd_before=watch.earlier.usd())
        most = budget_of(self.record, manifest)
        limits = Limits(manifest.budget, manifest.on_error, self.clock(), most)
        environment = {"ZEROSHIFT_STORE": json.dumps(self.store.options.to_dict())}
        arguments = ["work", str(self.paths.root), "--epoch", str(self.job.epoch)]
        raised = watch.raised
        process = raised.cluster.launch(
            [*arguments, "--engine", self.engine], environment, raised.log
        )
        try:
            while self._wait(process) is None:
                watch.observe(limits)
            watch.observe(limits)
        finally:
            raised.cluster.stop(process)
        status, error = process.poll(), self.job.attempt().error
        if watch.winding_down and not watch.all_committed:
            raise Stopped(State.OVER_BUDGET, watch.winding_down)
        if status == HANDED_BACK:
            self.sit_out()
        if status != 0 and error is None:
            raise DriverDied(f"the driver ended with status {status}; its log: {raised.log}")
        if status != 0:
            raise JobFailed(str(error))
        raised.driver_died = False

    def sit_out(self) -> NoReturn:
        """Let the node go that has had notice: a driver that came at once would find it there."""
        before, most = self.record.preemptions, self.settings.max_preemptions
        if before >= most:
            raise JobFailed(f"preempted: nodes were taken away more than {counted(most, 'time')}")
        self.pause(notice_s(before))
        raise Preempted(f"preempted {counted(before + 1, 'time')}: its shards were handed back")

    def _wait(self, process: WorkerProcess) -> int | None:
        try:
            return process.wait(self.settings.poll_s)
        except subprocess.TimeoutExpired:
            return None

    def close(self, watch: Watch) -> None:
        """Write reconciled results and receipt, then the success marker."""
        self.job.move(State.FINALIZING)
        errors, total = self.record.counts.errors, self.record.counts.total
        if errors:
            reason = f"{errors:,} of {counted(total, 'picture')} failed"
            self.publishing.publish(watch, State.COMPLETED_WITH_ERRORS, reason)
        else:
            self.publishing.publish(watch, State.COMPLETED, "")

    def end(self, state: State, reason: str) -> None:
        """End without a success marker; what rows there are stay, and are published.

        A disk without room for the table must not keep the job from ending.
        """
        if self.watch is not None:
            self.watch.look()
            try:
                self.publishing.publish(self.watch, state, reason)
                return
            except OSError as fault:
                why = disk_fault(fault, self.settings.work_dir)
                reason = reason if why in reason else f"{reason}; not published: {why}"
                self.write_off_later()
        self.leave(state, reason)

    def leave(self, state: State, reason: str) -> None:
        self.job.move(state, reason)
        dequeue(self.store, self.settings.bucket, self.record.job_id)
