"""`zeroshift cost export`: the ledger to a file, in the columns that FinOps tools read."""

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from jobs.cli.lines import Exit, errors_as_lines
from jobs.cli.store import open_store
from jobs.cli.terminal import err
from jobs.cost.focus import Focus, FocusRow
from jobs.cost.focus_files import (
    csv_header,
    parquet_header,
    read_csv,
    read_parquet,
    write_csv,
    write_parquet,
)
from jobs.cost.focus_rules import Broken, check_header, check_rows
from jobs.cost.ledger import day_of, entries
from jobs.cost.since import parse_since
from jobs.errors import UserError
from jobs.plurals import counted

SHOWN = 20
FORMATS = ("focus",)

app = typer.Typer()


@app.command()
def export(
    form: Annotated[str, typer.Option("--format", help="focus: FOCUS 1.2.")] = "focus",
    since: Annotated[str, typer.Option(help="12h, 7d, 4w or 2026-11-01.")] = "30d",
    as_csv: Annotated[bool, typer.Option("--csv", help="CSV, which is the default.")] = False,
    as_parquet: Annotated[bool, typer.Option("--parquet", help="Parquet; needs -o.")] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A file; standard output without it.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Hold what was written against FOCUS's rules.")
    ] = False,
) -> None:
    """The ledger in the columns that FinOps tools read.

    With --check, exit status 1 and a line for each broken rule; the file is left out then.
    """
    with errors_as_lines():
        if form not in FORMATS:
            raise UserError(f"--format: found {form!r}; allowed: {', '.join(FORMATS)}")
        if as_csv and as_parquet:
            raise UserError("found --csv and --parquet; allowed: one of them")
        if as_parquet and output is None:
            raise UserError("--parquet: found no file; allowed: -o FILE")
        now = time.time()
        begin = parse_since(since, now)
        settings, store = open_store()
        focus = Focus(account=settings.bucket)
        found = entries(store, settings.bucket, day_of(begin), day_of(now))
        rows = focus.rows(each for each in found if each.until >= begin)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "export"
            (write_parquet if as_parquet else write_csv)(path, rows)
            broken = list(islice(_broken(path, as_parquet), SHOWN)) if check else []
            if not broken:
                _deliver(path, output)
        _say(focus.unpriced, broken, check)


def _broken(path: Path, as_parquet: bool) -> Iterator[Broken]:
    header: Callable[[Path], list[str]] = parquet_header if as_parquet else csv_header
    read: Callable[[Path], Iterator[FocusRow]] = read_parquet if as_parquet else read_csv
    yield from check_header(header(path))
    yield from check_rows(read(path))


def _deliver(path: Path, output: Path | None) -> None:
    if output is None:
        with path.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.flush()
        return
    try:
        shutil.copyfile(path, output)
    except OSError as error:
        raise UserError(f"{output}: {error.strerror}") from error
    err.print(f"wrote {output}")


def _say(unpriced: int, broken: list[Broken], checked: bool) -> None:
    if unpriced:
        without = counted(unpriced, "entry has", "entries have")
        err.print(f"{without} no price, and FOCUS no way to say so: left out")
    for each in broken:
        err.print(f"broken rule: {each}", markup=False)
    if broken:
        raise typer.Exit(Exit.FAILED)
    if checked:
        err.print("FOCUS 1.2: no rule that we check is broken")
