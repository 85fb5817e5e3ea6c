"""Resume: let a job that ended over its budget go on, from its committed shards.

A manifest never changes, and a job's id is made of it, budget and all: submitting it again with a
higher budget would be another job, which starts anew. So the higher budget stands in the record.
"""

from decimal import Decimal, InvalidOperation

from jobs.addresses import JobPaths
from jobs.errors import UserError
from jobs.manifest.manifest import Manifest
from jobs.queue import enqueue
from jobs.record import Record, RecordFile
from jobs.settings.settings import Settings
from jobs.states import State
from jobs.store.bucket import Store
from jobs.telling.outbox import post

MOST_USD = Decimal(10**9)


def resume(
    store: Store,
    settings: Settings,
    job_id: str,
    manifest: Manifest,
    max_usd: Decimal | None,
    now: float,
) -> Record:
    """Back to the queue, under the claim of whoever takes it next; `UserError` when that is wrong.

    max_usd   the new budget; None keeps the one it has, when another budget stopped it

    Whoever was told that it had ended is told again when it ends again.
    """

    def change(record: Record) -> Record:
        if record.state is State.QUEUED and record.max_usd == max_usd:
            return record  # asked before: only the queue may lack it
        _check(record, manifest, max_usd)
        moved = record.moved(State.QUEUED, now, "resumed")
        new = {"owner": "", "lease_until": 0.0, "not_before": 0.0, "cancel_requested": False}
        new |= {"max_usd": record.max_usd if max_usd is None else max_usd}
        return moved.model_copy(update=new)

    bucket = settings.bucket
    record = RecordFile(store, JobPaths.of(bucket, job_id)).change(change)
    post(store, bucket, manifest, job_id, settings.webhook)
    enqueue(store, bucket, job_id)
    return record


def _check(record: Record, manifest: Manifest, max_usd: Decimal | None) -> None:
    if record.state is not State.OVER_BUDGET:
        raise UserError(f"{record.job_id} is {record.state.value}; allowed: a job over its budget")
    spent, before = record.cost_usd, budget_of(record, manifest)
    least = max(spent or Decimal(0), before or Decimal(0))
    if max_usd is not None and max_usd <= least:
        raise UserError(
            f"max_usd: found {max_usd:f}; allowed: more than {least:f}, which it has had"
        )
    if max_usd is None and before is not None and spent is not None and spent >= before:
        raise UserError(
            f"{record.job_id} has cost {spent:f} of {before:f} USD; allowed: a higher max_usd"
        )


def new_budget(text: str) -> Decimal:
    """The amount that somebody wrote; `UserError` when it is none."""
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or not 0 < amount <= MOST_USD:
        raise UserError(f"max_usd: found {text!r}; allowed: an amount above 0, such as 12.50")
    return amount


def budget_of(record: Record, manifest: Manifest) -> Decimal | None:
    """The job's budget as it stands: that of its resumption, else its manifest's."""
    return manifest.budget.max_usd if record.max_usd is None else record.max_usd
