"""Publishing: a job's rows, receipt and page when it ends, and its final bill after that.

The seventh and eighth step of a job's life, as a run takes them: everything that is written before
the success marker is written under the claim, and what is known only when the node time has ended
is written then.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial

from jobs.addresses import Address
from jobs.closing.close import Closing
from jobs.clusters.fleet import Fleet, Raised
from jobs.control.held_job import HeldJob
from jobs.control.watching import Watch
from jobs.cost.account import Tenancy
from jobs.cost.bill import bill_of
from jobs.cost.books import settle_tenancy, write_receipt
from jobs.errors import Conflict
from jobs.history import remember
from jobs.queue import dequeue
from jobs.report.closing import report_at_close, report_when_final
from jobs.settings.settings import Settings
from jobs.states import State
from jobs.totals import Totals


@dataclass(frozen=True, slots=True)
class Publishing:
    """What a run writes of its job for others to read."""

    job: HeldJob
    settings: Settings
    fleet: Fleet

    def publish(self, watch: Watch, state: State, reason: str) -> None:
        """Write rows, a receipt with the bill so far and a page, then enter the end state."""
        self.fleet.write_nodes()
        job, now, cluster = self.job, self.job.clock(), watch.raised.record_now()
        tenancy = watch.tenancy(None if state.succeeded else now)
        entries = [*watch.earlier.entries(), *tenancy.on(cluster, now)]
        rows_usd, closing = bill_of(entries).work_usd, self._closing()
        totals = closing.write(rows_usd, whole=state.succeeded)
        rows_usd = rows_usd if totals.rows else Decimal(0)
        record = job.record.moved(state, now, reason)
        bill = write_receipt(closing.fence(), record, totals, entries, rows_usd, cluster, False)
        report_at_close(closing.fence(), job.paths, closing.output)
        if state.succeeded:
            closing.succeed(record.job_id)
        job.change(cost_usd=bill.usd)
        job.move(state, reason)
        dequeue(job.store, self.settings.bucket, record.job_id)
        tenancy = replace(tenancy, record=record)
        self.fleet.settle_with(partial(self._account, tenancy, totals, rows_usd, watch.raised))

    def _closing(self) -> Closing:
        job, output = self.job, Address.parse(self.job.record.output)
        return Closing(job.store, job.paths, output, job.record.shards, job.change)

    def _account(
        self,
        tenancy: Tenancy,
        totals: Totals,
        rows_usd: Decimal | None,
        raised: Raised,
        until: float,
    ) -> None:
        """The final bill, when the cluster is gone or another job has begun on it."""
        store, bucket = self.job.store, self.settings.bucket
        cluster, record = raised.record, tenancy.record
        entries = settle_tenancy(store, bucket, tenancy, cluster, until)
        bill = write_receipt(store, record, totals, entries, rows_usd, cluster, True)
        report_when_final(store, record)
        remember(store, bucket, record, totals, bill, until)
        with suppress(Conflict):  # resumed meanwhile: it is another claim's to tell
            self.job.change(cost_usd=bill.usd)
