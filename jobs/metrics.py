"""Jobs and the ledger as metrics: a registry for Prometheus, made anew from what the bucket says.

Names follow Prometheus: base units as suffixes, `_total` for what only grows. Beside each stands
what OpenTelemetry would call it. Series for single jobs are of those that have not ended, so that
their number does not grow with the years; figures of the ledger are those of one month, and begin
again with the next, which Prometheus takes for a counter that was reset.
"""

import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path

from prometheus_client import CollectorRegistry, write_to_textfile
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from jobs.addresses import JobPaths
from jobs.cost.budgets import period
from jobs.cost.entry import Entry
from jobs.cost.ledger import day_of, entries
from jobs.cost.projection import projected_usd
from jobs.errors import NotFound
from jobs.policy.expected import expected_window_s
from jobs.queue import queued
from jobs.record import Record, RecordFile
from jobs.settings.settings import Settings
from jobs.states import State
from jobs.store.bucket import Store

ZERO = Decimal(0)
Sums = dict[tuple[str, ...], Decimal]


class Figures(Collector):
    """Counts records and entries as they pass; holds sums, never entries."""

    def __init__(self, now: float, idle_s: float = 0.0) -> None:
        self._now, self._idle_s = now, idle_s
        self._states: Counter[str] = Counter()
        self._active: list[Record] = []
        self._usd: Sums = {}
        self._seconds: Sums = {}
        self._images: Sums = {}
        self._unpriced: Counter[str] = Counter()

    def add_records(self, records: Iterable[Record]) -> None:
        for record in records:
            self._states[record.state.value] += 1
            if not record.state.ended:
                self._active.append(record)

    def add_entries(self, found: Iterable[Entry]) -> None:
        for entry in found:
            if entry.usd is None:
                self._unpriced[entry.kind] += 1
            for name, usd in (entry.usd or {}).items():
                _add(self._usd, (entry.model, entry.kind, name), usd)
            for meter, seconds in (("raw", entry.raw_s), ("billed", entry.billed_s)):
                for name, amount in seconds.items():
                    _add(self._seconds, (entry.model, meter, name), amount)
            for outcome, rows in (("ok", entry.ok), ("error", entry.images - entry.ok)):
                if rows:
                    _add(self._images, (entry.model, outcome), Decimal(rows))

    def collect(self) -> Iterator[Metric]:
        yield from self._of_jobs()
        yield from self._of_the_ledger()

    def _of_jobs(self) -> Iterator[Metric]:
        # OpenTelemetry: zeroshift.jobs, {job}
        states = GaugeMetricFamily("zeroshift_jobs", "Jobs that have not ended.", labels=["state"])
        for state in State:
            if not state.ended:
                states.add_metric([state.value], self._states[state.value])
        names = ["job_id", "model"]
        # zeroshift.job.images, {image}
        images = CounterMetricFamily("zeroshift_job_images", "Pictures done.", labels=names)
        # zeroshift.job.image.errors, {image}
        errors = CounterMetricFamily(
            "zeroshift_job_image_errors", "Pictures with an error.", labels=names
        )
        # zeroshift.job.images.expected, {image}
        expected = GaugeMetricFamily(
            "zeroshift_job_images_expected", "Pictures to be done in all.", labels=names
        )
        # zeroshift.job.cost, {USD}
        cost = GaugeMetricFamily(
            "zeroshift_job_cost_usd", "Cost so far; not there while unknown.", labels=names
        )
        # zeroshift.job.cost.projected, {USD}
        projected = GaugeMetricFamily(
            "zeroshift_job_projected_cost_usd",
            "Cost at the end, by the rate so far; not there while unknown.",
            labels=names,
        )
        for record in self._active:
            of, counts = [record.job_id, record.model], record.counts
            images.add_metric(of, counts.done)
            errors.add_metric(of, counts.errors)
            expected.add_metric(of, counts.total)
            if record.cost_usd is not None:
                cost.add_metric(of, float(record.cost_usd))
            end = projected_usd(record, self._now, self._idle_s)
            if end is not None:
                projected.add_metric(of, float(end))
        yield from (states, images, errors, expected, cost, projected)

    def _of_the_ledger(self) -> Iterator[Metric]:
        # zeroshift.cost, {USD}
        usd = CounterMetricFamily(
            "zeroshift_cost_usd",
            "Cost in the ledger this month, by class of time or kind of charge.",
            labels=["model", "kind", "class"],
        )
        # zeroshift.node.time, s
        seconds = CounterMetricFamily(
            "zeroshift_node_seconds",
            "Node time in the ledger this month, as it ran and as it was billed.",
            labels=["model", "meter", "class"],
        )
        # zeroshift.images, {image}
        images = CounterMetricFamily(
            "zeroshift_images", "Rows in the ledger this month.", labels=["model", "outcome"]
        )
        # zeroshift.ledger.entries.unpriced, {entry}
        unpriced = CounterMetricFamily(
            "zeroshift_ledger_unpriced_entries",
            "Entries of the ledger this month whose cost is unknown.",
            labels=["kind"],
        )
        for family, sums in ((usd, self._usd), (seconds, self._seconds), (images, self._images)):
            for key, amount in sorted(sums.items()):
                family.add_metric(list(key), float(amount))
        for kind, count in sorted(self._unpriced.items()):
            unpriced.add_metric([kind], count)
        yield from (usd, seconds, images, unpriced)


def _add(sums: Sums, key: tuple[str, ...], amount: Decimal) -> None:
    sums[key] = sums.get(key, ZERO) + amount


def registry(
    records: Iterable[Record], found: Iterable[Entry], now: float, idle_s: float = 0.0
) -> CollectorRegistry:
    """A registry of what `records` and entries say at the moment `now`."""
    figures, made = Figures(now, idle_s), CollectorRegistry()
    figures.add_records(records)
    figures.add_entries(found)
    made.register(figures)
    return made


def registry_of(store: Store, settings: Settings, now: float | None = None) -> CollectorRegistry:
    """The same from the bucket: jobs that have not ended, and this month's ledger."""
    now = time.time() if now is None else now
    first = day_of(period("month", now)[0])
    found = entries(store, settings.bucket, first, day_of(now))
    return registry(_unended(store, settings.bucket), found, now, expected_window_s(settings))


def _unended(store: Store, bucket: str) -> Iterator[Record]:
    for job_id in queued(store, bucket):
        with suppress(NotFound):  # queued a moment ago, its record is on its way
            yield RecordFile(store, JobPaths.of(bucket, job_id)).load()


def write_textfile(path: Path, made: CollectorRegistry) -> None:
    """For a node exporter's textfile collector: all at once, so that it reads no half of it."""
    write_to_textfile(os.fspath(path), made)
