"""A group of commands with one that is meant when none is named: `cost JOB` is `cost show JOB`."""

from typing import Any

from typer.core import TyperGroup


class DefaultCommand(TyperGroup):
    """Takes `show` when the first argument is none of its commands."""

    default = "show"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = [self.default, *args]
        return super().parse_args(ctx, args)
