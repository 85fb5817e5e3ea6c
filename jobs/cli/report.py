"""`zeroshift report`: the report of a job, made anew into a folder."""

from pathlib import Path
from typing import Annotated

import typer

from jobs.addresses import Address, JobPaths
from jobs.cli.lines import errors_as_lines
from jobs.cli.store import load_record, open_store
from jobs.cli.terminal import out
from jobs.cost.receipt import read_receipt
from jobs.errors import NotFound, UserError
from jobs.report.page import PAGE
from jobs.report.write import Write, write_report

app = typer.Typer()


@app.command()
def report(
    job: Annotated[str, typer.Argument(help="The job's id.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A folder; JOB-report without it.")
    ] = None,
) -> None:
    """Make the report of a job into a folder, to open in a browser."""
    with errors_as_lines():
        settings, store = open_store()
        record = load_record(store, settings, job)
        place = Address.parse(record.output)
        try:
            receipt = read_receipt(store.read(place / "receipt.json"))
        except NotFound as error:
            raise UserError(f"{job} is {record.state.value}: there is no report yet") from error
        if receipt["job_id"] != job:
            raise UserError(f"{place} holds the results of {receipt['job_id']}")
        folder = output or Path(f"{job}-report")
        paths = JobPaths.of(settings.bucket, job)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_report(store, paths, place, receipt, _into(folder))
        except OSError as error:
            raise UserError(f"{folder}: {error.strerror}") from error
        out.print(f"wrote {folder / PAGE}")


def _into(folder: Path) -> Write:
    return lambda name, body, kind: (folder / name).write_bytes(body)
