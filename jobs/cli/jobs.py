"""Commands about jobs and clusters: the controller, and looking at what it does."""

import os
import sys
import threading
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from jobs.addresses import Address
from jobs.cli.lines import end_like_ctrl_c, errors_as_lines, log_to_stderr, print_json
from jobs.cli.store import load_record, open_store
from jobs.cli.summary import print_clusters, print_jobs, print_summary
from jobs.cli.terminal import err, out
from jobs.closing.results import rows_of
from jobs.clusters.fleet import cluster_records
from jobs.control.cancelling import request_cancel
from jobs.control.controller import Controller
from jobs.cost.receipt import receipt_of
from jobs.errors import Unreadable, UserError
from jobs.lease import Rounds
from jobs.manifest.manifest import manifest_schema
from jobs.policy.expected import expected_window_s
from jobs.queue import all_jobs
from jobs.record import Record
from jobs.settings.settings import Settings
from jobs.settings.sources import FILE
from jobs.settings.template import settings_template
from jobs.store.bucket import Store
from jobs.telling.outbox import make_outbox
from jobs.versions import NEWER

app = typer.Typer()
METRICS_EVERY_S = 30.0
Job = Annotated[str, typer.Argument(help="The job's id.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on stdout.")]


@app.command()
def watch(
    once: Annotated[bool, typer.Option("--once", help="Do what there is to do, then end.")] = False,
    metrics_file: Annotated[
        Path | None,
        typer.Option(help="A file for a node exporter's textfile collector, such as z.prom."),
    ] = None,
) -> None:
    """The controller: takes closed batches and queued jobs, and works them."""
    with errors_as_lines():
        settings, store = open_store()
        log_to_stderr()
        outbox = make_outbox(store, settings.bucket, settings.webhook, os.environ)
        controller, stop = Controller(store, settings, outbox=outbox), threading.Event()
        end_like_ctrl_c()
        err.print(f"controller {controller.name} watches bucket {settings.bucket}")
        with _written_metrics(store, settings, metrics_file):
            if once:
                controller.once()
            else:
                controller.watch(stop)


def _written_metrics(
    store: Store, settings: Settings, path: Path | None
) -> AbstractContextManager[object]:
    """Writes metrics into `path` while it lasts; nothing without one."""
    if path is None:
        return nullcontext()
    from jobs.metrics import registry_of, write_textfile  # prometheus_client, for those who ask

    def write() -> None:
        write_textfile(path, registry_of(store, settings))

    write()
    return Rounds(write, METRICS_EVERY_S, "metrics")


@app.command()
def status(
    job: Annotated[str | None, typer.Argument(help="The job's id; all jobs without it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Where jobs stand."""
    with errors_as_lines():
        settings, store = open_store()
        if job is not None:
            record = load_record(store, settings, job)
            if as_json:
                print_json(record.model_dump(mode="json"))
            else:
                print_summary(out, record, receipt_of(store, record), expected_window_s(settings))
            return
        records, unreadable = _all_records(store, settings)
        if as_json:
            print_json([record.model_dump(mode="json") for record in records])
        else:
            print_jobs(out, records, unreadable)
        for each in unreadable.values() if as_json else ():
            err.print(f"warning: {each}", markup=False)


def _all_records(store: Store, settings: Settings) -> tuple[list[Record], dict[str, Unreadable]]:
    """The newest first, and why others can't be read, by job."""
    records, unreadable = [], {}
    for job_id in all_jobs(store, settings.bucket):
        try:
            records.append(load_record(store, settings, job_id))
        except Unreadable as error:
            unreadable[job_id] = error
    return sorted(records, key=lambda record: -record.created_at), unreadable


@app.command()
def results(
    job: Job,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A file; standard output without it.")
    ] = None,
) -> None:
    """The rows of a job, as JSON lines."""
    with errors_as_lines():
        settings, store = open_store()
        record = load_record(store, settings, job)
        if not record.state.ended:
            raise UserError(f"{job} is {record.state.value}: there are no results yet")
        lines = rows_of(store, Address.parse(record.output))
        if output is None:
            sys.stdout.buffer.writelines(lines)
            sys.stdout.flush()
            return
        try:
            with output.open("wb") as file:
                file.writelines(lines)
        except OSError as error:
            raise UserError(f"{output}: {error.strerror}") from error
        err.print(f"wrote {output}")


@app.command()
def clusters(as_json: AsJson = False) -> None:
    """Clusters with their leases, nodes and cost."""
    with errors_as_lines():
        settings, store = open_store()
        unreadable: set[str] = set()
        found = cluster_records(store, settings.bucket, unreadable)
        for each in sorted(unreadable):
            err.print(f"cluster {each}: {NEWER} or damaged, left alone", markup=False)
        if as_json:
            print_json([record.model_dump(mode="json") for record in found])
        else:
            print_clusters(out, found, time.time())


@app.command()
def cancel(job: Job) -> None:
    """Ask for a job to be stopped; what rows there are stay."""
    with errors_as_lines():
        settings, store = open_store()
        load_record(store, settings, job)
        record = request_cancel(store, settings.bucket, job, time.time())
        if record.state.ended:
            out.print(f"{job} is {record.state.value}")
        else:
            out.print(f"{job} is {record.state.value}; its controller will cancel it")


@app.command()
def init(
    bucket: Annotated[str | None, typer.Option(help="The bucket for jobs and results.")] = None,
) -> None:
    """Write a commented zeroshift.toml, and check the bucket."""
    with errors_as_lines():
        path = Path(FILE)
        if _write_settings(path, bucket):
            out.print(f"wrote {path}")
        else:
            out.print(f"{path} is there already: left as it is")
        settings, _ = open_store()
        out.print(f"bucket {settings.bucket} answers")
        if bucket not in (None, settings.bucket):
            raise UserError(
                f"--bucket: found {bucket!r}, and the settings in force have {settings.bucket!r}; "
                f"change bucket in {path}, or its variable"
            )


def _write_settings(path: Path, bucket: str | None) -> bool:
    """Whether it was written: never over what somebody has put into it."""
    try:
        if path.exists() and path.read_bytes() != settings_template().encode():
            return False
        path.write_text(settings_template(bucket), encoding="utf-8")
        return True
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error


@app.command()
def schema(
    what: Annotated[str, typer.Argument(help="manifest")] = "manifest",
) -> None:
    """The JSON Schema of a manifest."""
    with errors_as_lines():
        if what != "manifest":
            raise UserError(f"no schema of {what!r}; allowed: manifest")
        print_json(manifest_schema())
