"""`zeroshift cost export`, `verify` and `reconcile`: the ledger to a file, and against others."""

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from jobs.cli.columns import print_columns
from jobs.cli.console import Exit, err, errors_as_lines, open_store, out, print_json
from jobs.cost.entry import Entry
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
from jobs.cost.invoice import read_invoice
from jobs.cost.ledger import day_of, entries
from jobs.cost.reconcile import Reconciliation, Verdict
from jobs.cost.since import parse_since
from jobs.errors import UserError

DAY_S = 86400.0
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
        err.print(f"{unpriced} entries have no price, and FOCUS no way to say so: left out")
    for each in broken:
        err.print(f"broken rule: {each}", markup=False)
    if broken:
        raise typer.Exit(Exit.FAILED)
    if checked:
        err.print("FOCUS 1.2: no rule that we check is broken")


@app.command()
def reconcile(
    invoice: Annotated[Path, typer.Option(help="The provider's CSV: FOCUS columns, or ours.")],
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout.")] = False,
) -> None:
    """Hold a provider's invoice against the ledger, for each node and day.

    Exit status 0 when all match to a cent, 1 when something does not.
    """
    with errors_as_lines():
        held = Reconciliation()
        held.add_invoice(read_invoice(invoice))
        if held.first is None or held.last is None:
            raise UserError(f"{invoice}: it has no line about a resource")
        settings, store = open_store()
        # A line's end is not part of it: midnight is of the day before.
        first, last = day_of(held.first), day_of(max(held.first, held.last - 0.001))
        # An entry lies under the day of its end, which may be after the last day of the invoice.
        found = entries(store, settings.bucket, first, day_of(held.last + DAY_S))
        held.add_ledger(_of(found))
        verdicts = list(held.verdicts((first, last)))
        _show(verdicts, as_json)
        alarms = [each for each in verdicts if each.outcome == "missing_in_ledger"]
        for each in alarms:
            err.print(
                f"alarm: {each.node_id} on {each.day} is on the invoice for {each.theirs:f} "
                f"{each.currency}, and not in the ledger",
                markup=False,
            )
        if any(each.outcome != "matched" for each in verdicts):
            raise typer.Exit(Exit.FAILED)


def _of(found: Iterator[Entry]) -> Iterator[Entry]:
    """Node time of providers; this machine's own sends no invoice."""
    return (each for each in found if each.node is not None)


def _show(verdicts: list[Verdict], as_json: bool) -> None:
    if as_json:
        print_json([_to_json(each) for each in verdicts])
        return
    wrong = [each for each in verdicts if each.outcome != "matched"]
    out.print(f"{len(verdicts) - len(wrong)} of {len(verdicts)} nodes and days match")
    if wrong:
        names = ("node", "day", "outcome", "ledger", "invoice", "why")
        print_columns(out, names, [_row(each) for each in wrong], right=(3, 4), whole=True)


def _row(each: Verdict) -> tuple[str, ...]:
    ours = "-" if each.outcome == "missing_in_ledger" else _amount(each.ours)
    theirs = "-" if each.outcome == "missing_in_invoice" else _amount(each.theirs)
    words = each.outcome.replace("_", " ")
    return (each.node_id, str(each.day), words, ours, theirs, each.why)


def _amount(amount: object) -> str:
    return "unknown" if amount is None else f"{amount:.6f}"


def _to_json(each: Verdict) -> dict[str, object]:
    return {
        "node_id": each.node_id,
        "day": str(each.day),
        "outcome": each.outcome,
        "ledger": None if each.ours is None else f"{each.ours:f}",
        "invoice": None if each.theirs is None else f"{each.theirs:f}",
        "currency": each.currency,
        "why": each.why,
    }
