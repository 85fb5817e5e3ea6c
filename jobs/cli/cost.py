"""`zeroshift cost`: what jobs cost, from the ledger. `cost JOB` is `cost show JOB`.

The group's other commands are in `cost_export` and `cost_checks`.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from jobs.addresses import Address
from jobs.cli import cost_checks, cost_export
from jobs.cli.cost_table import print_classes, print_csv, print_otherwise, print_report
from jobs.cli.default_command import DefaultCommand
from jobs.cli.lines import errors_as_lines, print_json
from jobs.cli.policy import add_policy
from jobs.cli.store import load_record, open_store
from jobs.cli.summary import print_bill
from jobs.cli.terminal import err, out
from jobs.cost.comparison import AtEndpoint, at_endpoints, cheapest
from jobs.cost.entry import Entry
from jobs.cost.ledger import day_of, entries, entries_of
from jobs.cost.receipt import receipt_of
from jobs.cost.report import Report, keys_of, make_report
from jobs.cost.report_json import to_json
from jobs.cost.since import parse_since
from jobs.errors import UserError
from jobs.history import usual_tokens
from jobs.record import Record
from jobs.settings.settings import Settings
from jobs.store.bucket import Store
from jobs.versions import NEWER

DAY_S = 86400.0
SETTLED_S = 2 * DAY_S  # after a job's end, by which its last node time is in the ledger
SPAN = "30d"

app = typer.Typer()
group = typer.Typer(
    cls=DefaultCommand,
    rich_markup_mode=None,
    help="What jobs cost, from the ledger. `cost JOB` is `cost show JOB`, `cost` is `cost show`.",
)
app.add_typer(group, name="cost")


@group.command()
def show(
    job: Annotated[str | None, typer.Argument(help="A job's id; all jobs without it.")] = None,
    since: Annotated[
        str | None, typer.Option(help=f"12h, 7d, 4w or 2026-11-01. Without a job: {SPAN}.")
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="job, label, label:NAME, model, day or phase.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="CSV on stdout.")] = False,
) -> None:
    """The bill of a job, or what all cost since a moment, and the same work at other tariffs."""
    with errors_as_lines():
        if as_json and as_csv:
            raise UserError("found --json and --csv; allowed: one of them")
        keys_of(by or "phase")
        now = time.time()
        begin = None if since is None else parse_since(since, now)
        settings, store = open_store()
        asked = Asked(by, begin, now, as_json, as_csv)
        if job is not None:
            _show_job(store, settings, job, asked)
        else:
            _show_all(store, settings, asked)


@dataclass(frozen=True, slots=True)
class Asked:
    by: str | None
    begin: float | None
    now: float
    as_json: bool
    as_csv: bool


def _show_all(store: Store, settings: Settings, asked: Asked) -> None:
    now, by = asked.now, asked.by or "job"
    begin = parse_since(SPAN, now) if asked.begin is None else asked.begin
    unreadable: list[Address] = []
    found = entries(store, settings.bucket, day_of(begin), day_of(now), unreadable)
    report = make_report((each for each in found if each.until >= begin), by)
    if unreadable:
        err.print(
            f"warning: {len(unreadable)} entries of the ledger could not be read, and are in no "
            f"sum: {NEWER}, or damaged; the first is {unreadable[0]}",
            markup=False,
        )
    if asked.as_csv:
        print_csv(report, by)
        return
    at = _usual_endpoints(store, settings, report)
    if asked.as_json:
        print_json(to_json(report, by, begin, now, now - begin, at))
    elif not report.total.entries:
        out.print("no entries in the ledger for this time")
    else:
        print_report(out, report, by)
        print_otherwise(out, report, now - begin, at)


def _show_job(store: Store, settings: Settings, job: str, asked: Asked) -> None:
    record, by = load_record(store, settings, job), asked.by or "phase"
    receipt = receipt_of(store, record)
    report = make_report(_of_job(store, settings, record, asked), by)
    if receipt is None and not report.total.entries:
        raise UserError(f"{job} is {record.state.value}: there is no bill yet")
    if asked.as_csv:
        print_csv(report, by)
        return
    at = _endpoints_of(record, receipt)
    if asked.as_json:
        begin = record.created_at if asked.begin is None else asked.begin
        whole = to_json(report, by, begin, asked.now, DAY_S, at)
        print_json({**(receipt["bill"] if receipt else {}), "report": whole})
        return
    if receipt is not None:
        print_bill(out, receipt)
    if not report.total.entries:
        return
    if asked.by:
        print_report(out, report, by)
    else:
        print_classes(out, report.total)
    print_otherwise(out, report, DAY_S, at)


def _of_job(store: Store, settings: Settings, record: Record, asked: Asked) -> Iterator[Entry]:
    now = asked.now
    ended = max(record.entered.values(), default=now) if record.state.ended else now
    since = record.created_at if asked.begin is None else asked.begin
    found = entries_of(store, settings.bucket, record.job_id, since, min(now, ended + SETTLED_S))
    return (entry for entry in found if entry.job_id == record.job_id and entry.until >= since)


def _endpoints_of(
    record: Record, receipt: dict[str, Any] | None
) -> list[tuple[str, AtEndpoint | None]]:
    """By the tokens that its receipt counts."""
    prompt, output = (
        (receipt["prompt_tokens"], receipt["output_tokens"]) if receipt is not None else (0, 0)
    )
    return [(record.model, cheapest(at_endpoints(record.model, prompt, output)))]


def _usual_endpoints(
    store: Store, settings: Settings, report: Report
) -> list[tuple[str, AtEndpoint | None]]:
    """By what the model's latest jobs took for a picture: not every receipt is read for it."""
    found: list[tuple[str, AtEndpoint | None]] = []
    for model, images in sorted(report.images.items()):
        at: Sequence[AtEndpoint] = at_endpoints(model, 0, 0)
        usual = usual_tokens(store, settings.bucket, model) if at else None
        if usual is not None:
            at = at_endpoints(model, round(usual[0] * images), round(usual[1] * images))
        elif at:
            at = [AtEndpoint(each.name, None) for each in at]
        found.append((model, cheapest(at)))
    return found


for more in (cost_export.app, cost_checks.app):
    group.registered_commands.extend(more.registered_commands)
add_policy(group)
