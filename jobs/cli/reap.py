"""`zeroshift reap`: end what holds no live lease, and see that it is gone."""

import os
import socket
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from infra.clusters import make_sweeper
from jobs.cli.lines import Exit, errors_as_lines, print_json
from jobs.cli.store import open_store
from jobs.cli.terminal import err, out
from jobs.clusters.reaper import Reaped, Reaper

app = typer.Typer()


@app.command()
def reap(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be ended.")] = (
        False
    ),
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout.")] = False,
) -> None:
    """End clusters without a live lease, and what they left on this machine.

    Exit status 1, with a line for each on stderr, when something did not end.
    """
    with errors_as_lines():
        settings, store = open_store()
        name = f"{socket.gethostname()}-{os.getpid()}"
        reaper = Reaper(store, settings.bucket, name, make_sweeper, time.time)
        found = reaper.look() if dry_run else reaper.reap()
        if as_json:
            print_json([{**asdict(each), "alarm": each.alarm} for each in found])
        else:
            _print(found)
        alarms = [each for each in found if each.alarm]
        for each in alarms:
            err.print(f"[bold red]alarm:[/] {escape(each.line)}")
        if alarms:
            raise typer.Exit(Exit.FAILED)


def _print(found: Sequence[Reaped]) -> None:
    table = Table(box=None, pad_edge=False)
    for name in ("cluster", "outcome", "processes", "why"):
        table.add_column(name, justify="right" if name == "processes" else "left")
    for each in found:
        outcome = "would end" if each.outcome == "found" else each.outcome
        table.add_row(each.cluster_id, outcome, str(len(each.running)), each.why)
    out.print(table if found else "nothing to reap: whatever runs holds a live lease")
