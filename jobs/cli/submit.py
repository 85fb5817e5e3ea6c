"""`submit-job manifest.json`: check, submit, and with --wait see it through."""

import sys
import threading
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from jobs.addresses import JobPaths
from jobs.cli.lines import Exit, end_like_ctrl_c, errors_as_lines, fail, print_json
from jobs.cli.main import guarded
from jobs.cli.progress import JobProgress
from jobs.cli.quote import print_quote, say
from jobs.cli.store import exit_for, open_store
from jobs.cli.summary import print_summary
from jobs.cli.terminal import err, out
from jobs.control import presence
from jobs.control.controller import Controller
from jobs.cost.receipt import receipt_of
from jobs.errors import ManifestError
from jobs.manifest.manifest import Manifest, parse_manifest
from jobs.plurals import counted
from jobs.policy.expected import expected_window_s
from jobs.record import Record, RecordFile
from jobs.settings.settings import Settings
from jobs.store.bucket import Store
from jobs.submit.quoting import gather, quote_job, quote_to_json
from jobs.submit.submission import Submitted, check, pass_gates, resolved, submit

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
        if sys.stdin is None:  # closed by whoever started us
            raise ManifestError("standard input: closed; allowed: a manifest")
        return parse_manifest(sys.stdin.buffer.read(), "standard input")
    try:
        return parse_manifest(Path(source).read_bytes(), source)
    except OSError as error:
        raise ManifestError(f"{source}: {error.strerror}") from error


def _show_plan(store: Store, settings: Settings, manifest: Manifest, as_json: bool) -> None:
    warnings = check(store, settings, manifest)
    facts = gather(store, settings, manifest)
    shown = quote_to_json(quote_job(facts, settings, manifest), manifest)
    gates = pass_gates(store, settings, manifest, facts)
    shown["warnings"] += warnings
    shown["checked"] = [each.model_dump() for each in gates]
    print_json(shown) if as_json else _print_plan(shown)
    if shown["choice"] is None:
        fail("no offer can do this job; each says why", Exit.FAILED)


def _print_plan(shown: dict[str, Any]) -> None:
    """The quote, after the job that it is for and before what was checked."""
    headers = shown["headers"]
    say("job", shown["job_id"])
    say("results", shown["output"])
    say("sizes", f"of {counted(headers['read'], 'picture')}; {headers['asked']} asked for theirs")
    print_quote(shown)
    out.print()
    for each in shown["checked"]:
        say(each["gate"], f"{each['what']}: {each['found']}")


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
    progress = JobProgress(err, settings.poll_s, expected_window_s(settings))
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
    """Run the job to its end, waiting out setbacks and the lease of a controller that died."""
    while not (controller.run(job) or file.load()).state.ended:
        time.sleep(1.0)


def _say_ended(store: Store, record: Record, as_json: bool) -> None:
    receipt = receipt_of(store, record)
    if as_json:
        print_json({**record.model_dump(mode="json"), "receipt": receipt})
    else:
        print_summary(out, record, receipt)


def main() -> None:
    """The entry point `submit-job`."""
    guarded(app)


if __name__ == "__main__":
    main()
