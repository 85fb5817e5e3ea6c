"""`submit-job manifest.json`: check, submit, and with --wait see it through."""

import sys
import threading
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from jobs import presence
from jobs.addresses import Address, JobPaths
from jobs.bucket import Store
from jobs.cli.console import (
    Exit,
    end_like_ctrl_c,
    err,
    errors_as_lines,
    exit_for,
    log_to_stderr,
    open_store,
    out,
    print_json,
)
from jobs.cli.progress import JobProgress
from jobs.cli.summary import print_summary
from jobs.controller import Controller
from jobs.errors import ManifestError, NotFound
from jobs.manifest import Manifest, job_id, parse_manifest
from jobs.pin import MARKERS
from jobs.receipt import read_receipt
from jobs.record import Record, RecordFile
from jobs.settings import Settings
from jobs.submission import COUNTED, Submitted, check, plan_for, resolved, submit

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog="Exit status: 0 completed, 3 completed with errors, 1 failed, 2 bad manifest.")
def submit_job(
    manifest: Annotated[str, typer.Argument(help="A manifest file, or - for standard input.")],
    wait: Annotated[bool, typer.Option("--wait", help="See the job through.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check and plan; create nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout.")] = False,
) -> None:
    """Submit a job: pictures in a bucket, a model and a question, as a manifest."""
    with errors_as_lines():
        request = _read(manifest)
        settings, store = open_store()
        if dry_run:
            _show_plan(store, settings, resolved(request), as_json)
            return
        submitted = submit(store, settings, request)
        for warning in submitted.warnings:
            err.print(f"warning: {warning}", markup=False)
        if not wait:
            _say_queued(store, settings, submitted, as_json)
            return
        record = _see_through(store, settings, submitted.record)
        _say_ended(store, record, as_json)
    raise typer.Exit(exit_for(record.state))


def _read(source: str) -> Manifest:
    if source == "-":
        return parse_manifest(sys.stdin.buffer.read(), "standard input")
    try:
        return parse_manifest(Path(source).read_bytes(), source)
    except OSError as error:
        raise ManifestError(f"{source}: {error.strerror}") from error


def _show_plan(store: Store, settings: Settings, manifest: Manifest, as_json: bool) -> None:
    plan = plan_for(manifest, settings)
    warnings = check(store, manifest)
    images, exact = _count(store, manifest)
    shown: dict[str, Any] = {
        "job_id": job_id(manifest),
        "images": images,
        "images_counted_to_the_end": exact,
        "output": manifest.output,
        "model": str(plan.model.folder),
        "offer": plan.offer.name,
        "usd_per_hour": str(plan.offer.usd_per_hour),
        "nodes": plan.nodes,
        "engine": plan.engine,
        "seconds": plan.seconds,
        "usd": None,
        "warnings": list(warnings),
        "note": "seconds and usd are unknown until the planner can tell them",
    }
    if as_json:
        print_json(shown)
        return
    for name, value in shown.items():
        out.print(f"{name:<26}{'unknown' if value is None else value}", markup=False)


def _count(store: Store, manifest: Manifest) -> tuple[int, bool]:
    inputs = manifest.inputs
    if inputs.keys is not None:
        return len(inputs.keys), True
    if inputs.index is not None:
        lines = store.read(Address.parse(inputs.index)).split(b"\n")
        return sum(1 for line in lines if line.strip()), True
    assert inputs.prefix is not None, "a manifest has exactly one kind of inputs"
    count = 0
    for found in store.list(Address.parse(inputs.prefix)):
        count += found.address.name not in MARKERS
        if count >= COUNTED:
            return count, False
    return count, True


def _say_queued(store: Store, settings: Settings, submitted: Submitted, as_json: bool) -> None:
    record, controllers = submitted.record, presence.present(store, settings.bucket)
    if as_json:
        print_json(
            {
                "job_id": record.job_id,
                "state": record.state.value,
                "created": submitted.created,
                "controllers": controllers,
            }
        )
    else:
        out.print(record.job_id)
    if not submitted.created:
        err.print(f"the same request was made before: job {record.job_id} is {record.state.value}")
    if not controllers and not record.state.ended:
        err.print(
            "no controller is running: start one with `zeroshift watch`, or submit with --wait"
        )


def _see_through(store: Store, settings: Settings, record: Record) -> Record:
    err.print(f"job {record.job_id}")
    file = RecordFile(store, JobPaths.of(settings.bucket, record.job_id))
    progress = JobProgress(err, settings.poll_s)
    if record.state.ended or presence.present(store, settings.bucket):
        return progress.follow(file.load, lambda: False)
    return _work_it(store, settings, file, progress)


def _work_it(store: Store, settings: Settings, file: RecordFile, progress: JobProgress) -> Record:
    """Do the controller's work for this one job, the bar in a thread beside it."""
    job = file.load().job_id
    controller, stop = Controller(store, settings), threading.Event()
    bar = threading.Thread(target=progress.follow, args=(file.load, stop.is_set), daemon=True)
    end_like_ctrl_c()
    try:
        err.print("no controller is here: this command does its work for this job")
        bar.start()
        _claim_and_run(controller, file, job)
    except KeyboardInterrupt:
        err.print(
            f"stopping; job {job} stays queued: run the same command again to go on, "
            f"or `zeroshift cancel {job}`"
        )
        raise
    finally:
        stop.set()
        controller.leave()
        if bar.is_alive():
            bar.join(timeout=5)
    return file.load()


def _claim_and_run(controller: Controller, file: RecordFile, job: str) -> None:
    """Run the job, waiting for the lease of a controller that died with it to run out."""
    while controller.run(job) is None and not file.load().state.ended:
        time.sleep(1.0)


def _say_ended(store: Store, record: Record, as_json: bool) -> None:
    try:
        receipt = read_receipt(store.read(Address.parse(record.output) / "receipt.json"))
    except NotFound:
        receipt = None
    if receipt is not None and receipt["job_id"] != record.job_id:
        receipt = None
    if as_json:
        print_json({**record.model_dump(mode="json"), "receipt": receipt})
    else:
        print_summary(out, record, receipt)


def main() -> None:
    """The entry point `submit-job`."""
    try:
        app()
    except KeyboardInterrupt:
        err.print("interrupted")
        sys.exit(Exit.INTERRUPTED)


__all__ = ["app", "log_to_stderr", "main"]


if __name__ == "__main__":
    main()
