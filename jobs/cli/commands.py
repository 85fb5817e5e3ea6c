"""The commands of `zeroshift` as Typer lists them: which module has which. A module is imported
when its command is asked for, so that help does not wait for clients of stores and clusters.
"""

from importlib import import_module
from typing import Any, cast

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from jobs.cli.main import QUICK

# In the order of the help.
COMMANDS = {
    "watch": "jobs.cli.jobs",
    "status": "jobs.cli.jobs",
    "results": "jobs.cli.jobs",
    "report": "jobs.cli.report",
    "cost": "jobs.cli.cost",
    "clusters": "jobs.cli.jobs",
    "cancel": "jobs.cli.jobs",
    "resume": "jobs.cli.resume",
    "reap": "jobs.cli.reap",
    "keys": "jobs.cli.keys",
    "schedule": "jobs.cli.schedule",
    "rules": "jobs.cli.rules",
    "evaluate": "jobs.cli.evaluate",
    **QUICK,
    "init": "jobs.cli.jobs",
    "schema": "jobs.cli.jobs",
}
ITS_OWN_ARGUMENTS = {"ignore_unknown_options": True, "allow_extra_args": True}


class OnDemand(TyperGroup):
    """A group that knows its commands by name, and imports each when it is used."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = dict.fromkeys(COMMANDS, cast(Any, None))  # names, for suggestions

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(COMMANDS[cmd_name])
        if cmd_name in QUICK:
            return _quick(cmd_name, getattr(module, cmd_name))
        return get_group(module.app).commands[cmd_name]


def _quick(name: str, function: Any) -> Any:
    def run(context: typer.Context) -> None:
        function(context.args)

    one = typer.Typer(add_completion=False)
    settings: dict[str, Any] = {"context_settings": ITS_OWN_ARGUMENTS, "add_help_option": False}
    one.command(name, help=function.__doc__, **settings)(run)
    return get_command(one)


app = typer.Typer(cls=OnDemand, add_completion=False, no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def zeroshift() -> None:
    """Scale-to-zero batch work for vision-language models."""
