"""`zeroshift rules …`: what the settings would make of an object, without making it."""

from typing import Annotated, Any

import typer

from jobs.addresses import Address
from jobs.cli.columns import print_columns
from jobs.cli.lines import errors_as_lines, escaped, print_json
from jobs.cli.terminal import out
from jobs.events.rules import Hit, hit
from jobs.settings.settings import Settings, load_settings

app = typer.Typer()
rules = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Which objects become jobs by themselves."
)
app.add_typer(rules, name="rules")
AsJson = Annotated[bool, typer.Option("--json", help="JSON on stdout.")]


@rules.command("test")
def try_(
    keys: Annotated[list[str], typer.Argument(help="Keys in the bucket, or s3://BUCKET/KEY.")],
    as_json: AsJson = False,
) -> None:
    """Say which rule each key comes under, and why, or why none; nothing is started.

    The status is 1 when a key comes under no rule.
    """
    with errors_as_lines():
        settings = load_settings()
        found = [_tried(settings, key) for key in keys]
        if as_json:
            print_json(found)
        else:
            for each in found:
                out.print(escaped(_line(each)), markup=False)
        if any(each["rule"] is None for each in found):
            raise typer.Exit(1)


@rules.command("list")
def list_() -> None:
    """The rules, the longest prefix first."""
    with errors_as_lines():
        known = sorted(load_settings().all_rules, key=lambda rule: -len(rule.prefix))
        rows = [(r.prefix, r.known_as, r.closed_by, r.model, str(r.task), r.output) for r in known]
        print_columns(out, ("prefix", "rule", "closed by", "model", "task", "output"), rows)


def _tried(settings: Settings, key: str) -> dict[str, Any]:
    address = Address.parse(key if "://" in key else f"s3://{settings.bucket}/{key}")
    if address.bucket != settings.bucket:
        why = f"another bucket than {settings.bucket}"
        return {"key": str(address), "rule": None, "why": why}
    where = hit(settings.all_rules, address)
    if not isinstance(where, Hit):
        return {"key": str(address), "rule": None, "why": where.reason}
    rule, closes = where.rule, where.inner == where.rule.closed_by
    quiet = rule.closed_by == "quiet" and where.inner == "_SUCCESS"
    role = "closes the batch" if closes or quiet else "a picture of the batch"
    if where.marker and not (closes or quiet):
        role = f"no picture, and does not close it: {rule.closed_by} does"
    return {
        "key": str(address),
        "rule": rule.known_as,
        "why": f"the longest prefix of it is {rule.prefix}",
        "folder": str(where.folder),
        "role": role,
        "closed_by": f"quiet for {rule.quiet_s:g} s"
        if rule.closed_by == "quiet"
        else rule.closed_by,
        "model": rule.model,
        "task": rule.task,
        "output": f"s3://{settings.bucket}/{rule.output_of(where.folder.name)}",
    }


def _line(found: dict[str, Any]) -> str:
    if found["rule"] is None:
        return f"{found['key']}: no rule: {found['why']}"
    return (
        f"{found['key']}: rule {found['rule']!r} ({found['why']}): {found['role']} "
        f"{found['folder']}, closed by {found['closed_by']}; {found['model']}, {found['task']}, "
        f"to {found['output']}"
    )
