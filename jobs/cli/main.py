"""`zeroshift`. Quick commands are run at once; the others, and every help, are Typer's.

A quick command reads its own arguments: Typer and what it imports take longer than all the rest of
a plan or a list, or than a server that answers.
"""

import sys
from importlib import import_module

INTERRUPTED = 130
QUICK = {
    "plan": "jobs.cli.plan",
    "models": "jobs.cli.catalogue",
    "offers": "jobs.cli.catalogue",
    "serve": "jobs.cli.serve",
}


def main() -> None:
    """The entry point `zeroshift`."""
    name, *arguments = sys.argv[1:] or [""]
    try:
        if name in QUICK:
            getattr(import_module(QUICK[name]), name)(arguments)
        else:
            import_module("jobs.cli.commands").app()
    except KeyboardInterrupt:  # of the imports, too, before there is a console
        sys.stderr.write("interrupted\n")
        sys.exit(INTERRUPTED)
