"""`zeroshift schedule …`: jobs by the clock. They are fired by `zeroshift watch`."""

import os
import socket
import time
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Any, get_args

import typer
from pydantic import ValidationError

from jobs.cli.columns import print_columns, yes_or_no
from jobs.cli.lines import errors_as_lines, print_json
from jobs.cli.store import open_store
from jobs.cli.terminal import err, out
from jobs.errors import UserError
from jobs.problems import one_line, problems_of
from jobs.schedules.due import upcoming
from jobs.schedules.files import ScheduleFile, runs, schedules
from jobs.schedules.fires import find_zone, said
from jobs.schedules.requests import refuse_jobs, refuse_rules
from jobs.schedules.schedule import CatchUp, Overlap, Plan, Schedule
from jobs.schedules.scheduler import Scheduler
from jobs.settings.settings import Settings
from jobs.store.bucket import Store
from jobs.versions import NEWER

app = typer.Typer()
schedule = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Jobs by the clock; zeroshift watch fires them.",
)
app.add_typer(schedule, name="schedule")
ScheduleName = Annotated[str, typer.Argument(help="The schedule's name.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on stdout.")]
COLUMNS = ("name", "cron", "zone", "next (UTC)", "paused", "missed", "last job")


@schedule.command()
def add(
    name: ScheduleName,
    cron: Annotated[str, typer.Option(help="Five fields, such as '0 6 * * MON-FRI'.")],
    prefix: Annotated[str, typer.Option(help="s3://BUCKET/PREFIX/, or PREFIX/ in the bucket.")],
    model: Annotated[str, typer.Option(help="The model that is asked.")],
    zone: Annotated[str, typer.Option(help="Time zone, such as Europe/Berlin.")] = "UTC",
    task: Annotated[str, typer.Option(help="The preset that is asked.")] = "inspection",
    output: Annotated[
        str | None, typer.Option(help="Where results go. Default: results/schedules/NAME/.")
    ] = None,
    label: Annotated[list[str] | None, typer.Option(help="key=value; may be repeated.")] = None,
    max_usd: Annotated[str | None, typer.Option(help="Budget of each job.")] = None,
    catch_up: Annotated[
        str, typer.Option(help="none, latest, or all:N, the last N that were missed.")
    ] = "latest",
    overlap: Annotated[
        str, typer.Option(help="While the job before runs: forbid, queue or allow.")
    ] = "forbid",
    jitter: Annotated[int, typer.Option(help="Seconds that each run may start later.")] = 0,
) -> None:
    """Add a schedule; the first run takes all that is there, each later one what is new."""
    with errors_as_lines():
        settings, store = open_store()
        given: dict[str, Any] = {"labels": dict(_label(each) for each in label or ())}
        given |= {"name": name, "cron": cron, "zone": zone, "model": model, "task": task}
        given["prefix"] = _address(settings, prefix)
        given["output"] = _address(settings, output or f"results/schedules/{name}/")
        given |= {"max_usd": max_usd, "overlap": overlap, "jitter_s": jitter, **_catch_up(catch_up)}
        plan = _plan(given)
        now = time.time()
        added = Schedule(plan=plan, created_at=now, cursor=now)
        refuse_rules(settings, added)
        refuse_jobs(settings, added)
        ScheduleFile(store, settings.bucket, name).create(added)
        out.print(f"added {name}; next: {_moment(plan, now)}")


@schedule.command("list")
def list_(as_json: AsJson = False) -> None:
    """All schedules, with their next time."""
    with errors_as_lines():
        settings, store = open_store()
        unreadable: set[str] = set()
        found = list(schedules(store, settings.bucket, unreadable))
        for each in sorted(unreadable):
            err.print(f"schedule {each}: {NEWER} or damaged, left alone", markup=False)
        if as_json:
            print_json([_public(each) for each in found])
        elif not found:
            out.print("no schedules; see zeroshift schedule add --help")
        else:
            print_columns(out, COLUMNS, [_row(each) for each in found], right=[5])


@schedule.command()
def pause(name: ScheduleName) -> None:
    """Let a schedule rest; nothing is made up for later."""
    with errors_as_lines():
        settings, store = open_store()
        ScheduleFile(store, settings.bucket, name).pause()
        out.print(f"paused {name}")


@schedule.command()
def resume(name: ScheduleName) -> None:
    """Go on with a schedule from now."""
    with errors_as_lines():
        settings, store = open_store()
        now = time.time()
        found = ScheduleFile(store, settings.bucket, name).resume(now)
        out.print(f"resumed {name}; next: {_moment(found.plan, now)}")


@schedule.command()
def remove(name: ScheduleName) -> None:
    """Take a schedule away; its jobs and results stay."""
    with errors_as_lines():
        settings, store = open_store()
        ScheduleFile(store, settings.bucket, name).remove()
        out.print(f"removed {name}")


@schedule.command("next")
def next_(
    name: ScheduleName,
    count: Annotated[int, typer.Option("-n", min=1, max=1000, help="How many.")] = 5,
    as_json: AsJson = False,
) -> None:
    """When a schedule will fire, in its own time zone and in UTC."""
    with errors_as_lines():
        settings, store = open_store()
        found = ScheduleFile(store, settings.bucket, name).load()
        plan = found.plan
        # Up to its cursor all is decided, even where a clock that was wrong has set it ahead.
        moments = list(islice(upcoming(plan, max(time.time(), found.cursor)), count))
        zone = find_zone(plan.zone)
        if as_json:
            print_json(
                [{"local": m.astimezone(zone).isoformat(), "utc": m.isoformat()} for m in moments]
            )
            return
        print_columns(out, (plan.zone, "UTC"), [said(moment, zone) for moment in moments])


@schedule.command()
def run(name: ScheduleName) -> None:
    """Run a schedule now, beside its times; it takes what is new."""
    with errors_as_lines():
        settings, store = open_store()
        made = _scheduler(store, settings).run_now(name)
        out.print(f"{name}: {made.outcome} {made.job_id or made.reason}".rstrip())


@schedule.command("runs")
def runs_(name: ScheduleName, as_json: AsJson = False) -> None:
    """What became of each run."""
    with errors_as_lines():
        settings, store = open_store()
        ScheduleFile(store, settings.bucket, name).load()
        found = runs(store, settings.bucket, name)
        if as_json:
            print_json([each.model_dump(mode="json", exclude={"watermark"}) for each in found])
            return
        if not found:
            out.print(f"{name} has not run yet; see zeroshift schedule next {name}")
            return
        rows = [(e.id, e.outcome, str(len(e.keys or ())), e.job_id or e.reason) for e in found]
        print_columns(out, ("time (UTC)", "outcome", "pictures", "job"), rows, right=[2])


def _scheduler(store: Store, settings: Settings) -> Scheduler:
    return Scheduler(store, settings, f"{socket.gethostname()}-{os.getpid()}", time.time)


def _address(settings: Settings, text: str) -> str:
    return text if "://" in text else f"s3://{settings.bucket}/{text}"


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UserError(f"--label: found {text!r}; allowed: key=value")
    return key, value


def _catch_up(text: str) -> dict[str, Any]:
    word, colon, limit = text.partition(":")
    if word not in get_args(CatchUp) or (colon and (word != "all" or not limit.isdigit())):
        raise UserError(f"--catch-up: found {text!r}; allowed: none, latest, all or all:N")
    return {"catch_up": word, **({"catch_up_limit": int(limit)} if colon else {})}


def _plan(given: dict[str, Any]) -> Plan:
    if given["overlap"] not in get_args(Overlap):
        allowed = ", ".join(get_args(Overlap))
        raise UserError(f"--overlap: found {given['overlap']!r}; allowed: {allowed}")
    try:
        return Plan(**given)
    except ValidationError as error:
        raise UserError(f"schedule: {one_line(problems_of(error, Plan))}") from error


def _next(plan: Plan, now: float) -> datetime | None:
    return next(upcoming(plan, now), None)


def _moment(plan: Plan, now: float) -> str:
    moment = _next(plan, now)
    if moment is None:
        return "never"
    return f"{moment.astimezone(find_zone(plan.zone)):%Y-%m-%d %H:%M %Z} ({moment:%H:%M}Z)"


def _row(found: Schedule) -> tuple[str, ...]:
    plan, moment = found.plan, _next(found.plan, max(time.time(), found.cursor))
    when = "never" if moment is None or found.paused else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"
    paused, missed = yes_or_no(found.paused), str(found.missed)
    return (plan.name, plan.cron, plan.zone, when, paused, missed, found.last_job or "-")


def _public(found: Schedule) -> dict[str, Any]:
    moment = _next(found.plan, max(time.time(), found.cursor))
    shown = found.model_dump(mode="json", exclude={"watermark", "writes"})
    return {**shown, "next": moment.isoformat() if moment and not found.paused else None}
