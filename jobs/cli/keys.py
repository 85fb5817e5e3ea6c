"""`zeroshift keys`: the keys of the API."""

import time
from typing import Annotated

import typer
from rich.table import Table

from jobs.api.access.keys import all_keys, create_key, revoke_key
from jobs.cli.lines import errors_as_lines, print_json
from jobs.cli.store import open_store
from jobs.cli.terminal import err, out
from jobs.errors import UserError

app = typer.Typer()
keys = typer.Typer(no_args_is_help=True)
app.add_typer(keys, name="keys")
AsJson = Annotated[bool, typer.Option("--json", help="JSON on stdout.")]
LONGEST_NAME = 100


@keys.callback()
def group() -> None:
    """Keys of the API: make one, list them, revoke one."""


@keys.command()
def create(
    name: Annotated[str, typer.Argument(help="What the key is for, to be told apart by.")],
    scope: Annotated[
        list[str] | None,
        typer.Option(help="submit, read or admin; once or more. Default: submit and read."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a key. Its token is shown now and never again."""
    with errors_as_lines():
        if not name.strip() or len(name) > LONGEST_NAME:
            raise UserError(f"name: allowed: 1 to {LONGEST_NAME} characters")
        settings, store = open_store()
        wanted = scope or ["submit", "read"]
        key, token = create_key(store, settings.bucket, name, wanted, time.time())
        if as_json:
            print_json({"id": key.id, "name": name, "scopes": key.scopes, "token": token})
        else:
            out.print(token, markup=False)
        err.print(f"key {key.id} ({', '.join(key.scopes)}); the token is not kept: keep it safe")


@keys.command("list")
def list_keys(as_json: AsJson = False) -> None:
    """Every key, without its token."""
    with errors_as_lines():
        settings, store = open_store()
        found = all_keys(store, settings.bucket)
        if as_json:
            print_json(
                [key.model_dump(mode="json", exclude={"sha256", "version"}) for key in found]
            )
            return
        table = Table(box=None, pad_edge=False)
        for column in ("id", "name", "scopes", "created", "revoked"):
            table.add_column(column)
        for key in found:
            table.add_row(
                key.id,
                key.name,
                ", ".join(key.scopes),
                _day(key.created_at),
                _day(key.revoked_at),
            )
        out.print(table if found else "no keys: zeroshift serve lets this machine in alone")


@keys.command()
def revoke(key: Annotated[str, typer.Argument(help="The key's id.")]) -> None:
    """Revoke a key; servers that run notice within some seconds."""
    with errors_as_lines():
        settings, store = open_store()
        revoked = revoke_key(store, settings.bucket, key, time.time())
        out.print(f"key {revoked.id} is revoked", markup=False)


def _day(moment: float | None) -> str:
    return "" if moment is None else time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(moment))
