"""`zeroshift resume`: let a job that ended over its budget go on, with more."""

import time
from typing import Annotated

import typer

from jobs.addresses import JobPaths
from jobs.cli.lines import errors_as_lines
from jobs.cli.store import load_record, open_store
from jobs.cli.terminal import err, out
from jobs.control import presence
from jobs.control.resume import budget_of, new_budget, resume
from jobs.submit.submission import load_manifest

app = typer.Typer()


@app.command("resume")
def resume_job(
    job: Annotated[str, typer.Argument(help="The job's id.")],
    max_usd: Annotated[
        str | None, typer.Option(help="Its new budget in USD, for all of it.")
    ] = None,
) -> None:
    """Let a job that ended over its budget go on from its committed shards."""
    with errors_as_lines():
        budget = None if max_usd is None else new_budget(max_usd)
        settings, store = open_store()
        load_record(store, settings, job)
        manifest = load_manifest(store, JobPaths.of(settings.bucket, job))
        record = resume(store, settings, job, manifest, budget, time.time())
        most = budget_of(record, manifest)
        out.print(
            f"{job} is queued, " + ("without a budget" if most is None else f"up to {most:f} USD")
        )
        if not presence.present(store, settings.bucket):
            err.print("no controller is running: start one with `zeroshift watch`")
