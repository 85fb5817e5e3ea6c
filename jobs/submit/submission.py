"""Submit: check a manifest against the world, then write the job down. Nothing is paid for here.

The first step of a job's life. The same request twice is one job.
"""

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from infra.catalogue.offers import Offer
from jobs.addresses import Address, JobPaths
from jobs.cost.purses import Purses
from jobs.errors import ManifestError, NotFound, PermanentError
from jobs.inputs.pin import is_picture
from jobs.manifest.manifest import Manifest, default_output, job_id, overlap, parse_manifest
from jobs.queue import enqueue
from jobs.record import Checked, Record, RecordFile
from jobs.settings.settings import Settings
from jobs.store.bucket import Store
from jobs.submit.gates import budget_gate, code_gate, engine_gate, licence_gate, spent_gate
from jobs.submit.planning import passed_over, plan_for, plans_for, spec_for
from jobs.submit.residency import residency_gate
from jobs.submit.task_check import check_task, with_schema

if TYPE_CHECKING:
    from jobs.submit.quoting import Facts, JobQuote
from jobs.telling.outbox import check_webhook, post


@dataclass(frozen=True, slots=True)
class Submitted:
    """`created` is False when the same request had been made before."""

    record: Record
    created: bool
    warnings: tuple[str, ...] = ()


def resolved(manifest: Manifest) -> Manifest:
    """The manifest with its output spelled out, and its schema looked up."""
    whole = with_schema(manifest)
    return whole.model_copy(update={"output": manifest.output or default_output(manifest)})


def check(store: Store, manifest: Manifest) -> tuple[str, ...]:
    """`ManifestError` when the task can't be asked, the inputs can't be listed or the output is
    another job's; answers warnings."""
    _check_inputs(store, manifest)
    _check_output(store, manifest)
    return check_task(manifest)


def _check_output(store: Store, manifest: Manifest) -> None:
    assert manifest.output is not None, "check() takes a resolved manifest"
    marker = Address.parse(manifest.output) / "_SUCCESS"
    try:
        # A listing, since only it tells a missing bucket from a missing object.
        if marker not in (found.address for found in store.list(marker)):
            return
        owner = store.read(marker).decode(errors="replace")
    except PermanentError as error:
        raise ManifestError(f"output: {error}") from error
    if job_id(manifest) not in owner:
        raise ManifestError(
            f"output: {manifest.output} holds the results of another job ({owner[:100]}); "
            "allowed: a prefix without _SUCCESS"
        )


def _check_inputs(store: Store, manifest: Manifest) -> None:
    prefix, index = manifest.inputs.prefix, manifest.inputs.index
    where = "prefix" if prefix is not None else "index"
    try:
        if index is not None:
            store.look(Address.parse(index))
        if prefix is not None and not _has_pictures(store, Address.parse(prefix)):
            raise ManifestError(f"inputs.prefix: nothing is there: {prefix}")
    except PermanentError as error:
        raise ManifestError(f"inputs.{where}: {error}") from error


def _has_pictures(store: Store, prefix: Address) -> bool:
    return any(is_picture(found.address) for found in store.list(prefix))


def submit(store: Store, settings: Settings, manifest: Manifest) -> Submitted:
    """Write the job's manifest and first record, and queue it; or find the job that is there."""
    manifest = resolved(manifest)
    paths = JobPaths.of(settings.bucket, job_id(manifest))
    file = RecordFile(store, paths)
    try:
        return Submitted(file.load(), created=False)
    except NotFound:
        pass
    check_starts_nothing(settings, manifest)
    plan_for(manifest, settings)
    check_webhook(manifest, settings.webhook)
    warnings = (*check(store, manifest), *passed_over(manifest, settings))
    checked = pass_gates(store, settings, manifest)
    now = time.time()
    record = Record(
        job_id=paths.job_id,
        created_at=now,
        hold_until=now + manifest.max_wait_s,
        output=manifest.output or "",
        model=manifest.model,
        labels=manifest.labels,
        checked=checked,
    )
    store.write(paths.manifest, manifest.model_dump_json(indent=1).encode())
    # Queued first: a queue entry without a record is skipped, a record without one would wait for
    # ever.
    post(store, settings.bucket, manifest, paths.job_id, settings.webhook)
    enqueue(store, settings.bucket, paths.job_id)
    created = file.create(record)
    return Submitted(record if created else file.load(), created, warnings)


def check_starts_nothing(settings: Settings, manifest: Manifest) -> None:
    """`ManifestError` when results would lie where a rule makes jobs of what arrives."""
    output = Address.parse(manifest.output or "")
    for rule in settings.all_rules:
        if output.bucket == settings.bucket and overlap(output.key, rule.prefix):
            raise ManifestError(
                f"output: {output} overlaps the prefix {rule.prefix!r} of rule "
                f"{rule.known_as!r}: results would start jobs; allowed: a prefix apart from it"
            )


def pass_gates(
    store: Store, settings: Settings, manifest: Manifest, facts: "Facts | None" = None
) -> tuple[Checked, ...]:
    """Licence, code, residency, budget; `ManifestError` at the first that does not hold.

    `facts` are looked up when there is a budget and they are not given.
    """
    # Half of what is slow to import here, and a server that starts asks for no price.
    from jobs.submit.quoting import cheaper, gather, quote_job

    spec = facts.spec if facts else spec_for(store, manifest)
    checked = licence_gate(spec, settings.jurisdiction, manifest.acknowledge)
    checked += code_gate(spec, manifest.revision) + engine_gate(spec)
    budget = manifest.budget.max_usd
    if facts is None and budget is not None:
        facts = gather(store, settings, manifest)
    quoted = quote_job(facts, settings, manifest) if facts else None
    for offer in _places(settings, manifest, quoted):
        here = residency_gate(store, manifest, offer, settings.bucket)
        checked += [each for each in here if each not in checked]
    if facts is not None and quoted is not None:
        changes = partial(cheaper, facts, settings, manifest)
        checked += budget_gate(budget, quoted.usd, changes)
    if settings.budgets:
        purses = Purses(store, settings.bucket, settings.budgets, time.time)
        checked += spent_gate(purses.of(manifest.labels), time.time())
    return tuple(checked)


def _places(
    settings: Settings, manifest: Manifest, quoted: "JobQuote | None"
) -> list[Offer | None]:
    """The offers that the job may come to run on; of several that are named, all that can be."""
    if quoted is not None and len(manifest.hardware.offers) == 1:
        return [quoted.offer]
    return [plan.offer for plan in plans_for(manifest, settings)]


def load_manifest(store: Store, paths: JobPaths) -> Manifest:
    return parse_manifest(store.read(paths.manifest), str(paths.manifest))
