"""What ended jobs measured, kept for the planner: one small object a job, by model and node.

Written with the final bill, read by a dry run. A lost or broken object costs precision, no more.
"""

import hashlib
import re
from collections import defaultdict
from contextlib import suppress

from pydantic import ValidationError

from infra.planner.measured import Measured, Sample, measured
from jobs.addresses import Address, measured_root
from jobs.cost.bill import Bill
from jobs.errors import ZeroshiftError
from jobs.noun import Noun
from jobs.record import Record
from jobs.store.bucket import Found, Store
from jobs.totals import Totals

STARTING, WORKING = ("startup", "model_load"), ("work", "input_wait", "wasted")
LATEST = 20  # jobs of a model and node that are looked at


class Measurement(Noun):
    """`zeroshift/measured/<model>/<node>/<job>.json`; seconds are of all nodes together."""

    job_id: str
    model: str
    node: str
    ended_at: float
    images: int
    tokens: int
    output_tokens: int
    work_s: float
    startup_s: float

    def sample(self) -> Sample:
        return Sample(self.images, self.tokens, self.output_tokens, self.work_s, self.startup_s)


def remember(
    store: Store, bucket: str, record: Record, totals: Totals, bill: Bill, ended_at: float
) -> None:
    """Keep what `record`'s job measured, if it finished: a job that was stopped would mislead."""
    if not record.state.succeeded or record.offer is None or not totals.ok or not bill.nodes:
        return
    node = record.offer.gpu or record.offer.name
    kept = Measurement(
        job_id=record.job_id,
        model=record.model,
        node=node,
        ended_at=ended_at,
        images=totals.rows,
        tokens=totals.prompt_tokens + totals.output_tokens,
        output_tokens=totals.output_tokens,
        work_s=float(sum(bill.ran[name] for name in WORKING)),
        startup_s=float(sum(bill.ran[name] for name in STARTING)) / bill.nodes,
    )
    address = _folder(bucket, record.model) / f"{node}/{record.job_id}.json"
    with suppress(ZeroshiftError):  # the bill must not wait for it
        store.create(address, kept.model_dump_json().encode())


def recall(store: Store, bucket: str, model: str) -> dict[str, Measured]:
    """By kind of node, what the latest jobs of `model` measured."""
    folder = _folder(bucket, model)
    found: dict[str, list[Found]] = defaultdict(list)
    for each in store.list(folder):
        node, _, _ = each.address.key.removeprefix(folder.key).rpartition("/")
        found[node].append(each)
    known = {node: measured(_latest(store, kept)) for node, kept in found.items()}
    return {node: figures for node, figures in known.items() if figures is not None}


def usual_tokens(store: Store, bucket: str, model: str) -> tuple[float, float] | None:
    """Prompt and output tokens of a picture in the latest jobs of `model`; None: none is known."""
    samples = _latest(store, list(store.list(_folder(bucket, model))))
    images = sum(each.images for each in samples)
    if not images:
        return None
    output = sum(each.output_tokens for each in samples)
    return (sum(each.tokens for each in samples) - output) / images, output / images


def _latest(store: Store, kept: list[Found]) -> list[Sample]:
    samples = []
    for each in sorted(kept, key=lambda each: each.modified, reverse=True)[:LATEST]:
        with suppress(ValidationError, ZeroshiftError):
            body = store.read(each.address)
            samples.append(Measurement.model_validate_json(body).sample())
    return samples


def _folder(bucket: str, model: str) -> Address:
    """Readable, and never the same for two models."""
    slug = re.sub(r"[^A-Za-z0-9.-]+", "-", model)[-60:]
    digest = hashlib.sha256(model.encode()).hexdigest()[:8]
    return measured_root(bucket) / f"{slug}-{digest}/"
