"""`zeroshift cost verify` and `reconcile`: the ledger against itself, and against an invoice."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from jobs.cli.columns import print_columns
from jobs.cli.lines import Exit, errors_as_lines, print_json
from jobs.cli.store import open_store
from jobs.cli.terminal import err, out
from jobs.cost.entry import Entry
from jobs.cost.invoice import read_invoice
from jobs.cost.ledger import day_of, entries
from jobs.cost.reconcile import Reconciliation, Verdict
from jobs.cost.since import parse_since
from jobs.cost.verify import verify as verified
from jobs.errors import UserError
from jobs.plurals import counted

DAY_S = 86400.0

app = typer.Typer()


@app.command()
def verify(
    since: Annotated[
        str | None, typer.Option(help="12h, 7d, 4w or 2026-11-01. Without: all there is.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout.")] = False,
) -> None:
    """Compute every bill again from the ledger alone, and compare.

    Exit status 0 when all is right, 1 with a line for each thing that differs.
    """
    with errors_as_lines():
        now = time.time()
        first = None if since is None else day_of(parse_since(since, now))
        settings, store = open_store()
        wrong = 0
        found = verified(store, settings.bucket, first, day_of(now))
        if as_json:
            lines = list(found)
            wrong = len(lines)
            print_json({"ok": not lines, "differs": lines})
        else:
            for line in found:
                wrong += 1
                out.print(line, markup=False, emoji=False)
            differing = counted(wrong, "line differs", "lines differ")
            out.print(differing if wrong else "the ledger and every bill agree")
        if wrong:
            raise typer.Exit(Exit.FAILED)


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
