"""`zeroshift`. Quick commands are run at once; the others, and every help, are Typer's.

A quick command reads its own arguments: Typer and what it imports take longer than all the rest of
a plan or a list, or than a server that answers.
"""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module

USER_ERROR, INTERRUPTED = 2, 130
QUICK = {
    "plan": "jobs.cli.plan",
    "models": "jobs.cli.catalogue",
    "offers": "jobs.cli.catalogue",
    "serve": "jobs.cli.serve",
}


def main() -> None:
    """The entry point `zeroshift`."""
    guarded(_run)


def _run() -> None:
    name, *arguments = sys.argv[1:] or [""]
    if name in QUICK:
        getattr(import_module(QUICK[name]), name)(arguments)
    else:
        import_module("jobs.cli.commands").app()


def guarded(act: Callable[[], object]) -> None:
    """Run a command: what can go wrong around it is a line and an exit status, too."""
    try:
        _refuse_broken_text(sys.argv[1:])
        act()
    except KeyboardInterrupt:  # of the imports, too, before there is a console
        sys.stderr.write("interrupted\n")
        sys.exit(INTERRUPTED)
    except RuntimeError as error:
        # So Python 3.11 passes on what interrupts the making of a class, as imports do it.
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        sys.stderr.write("interrupted\n")
        sys.exit(INTERRUPTED)


def _refuse_broken_text(arguments: Sequence[str]) -> None:
    """What is no UTF-8 can be in no record: one line here, and not an error of each command's."""
    for number, each in enumerate(arguments, 1):
        if not each.isascii() and any("\ud800" <= letter <= "\udfff" for letter in each):
            sys.stderr.write(f"error: argument {number}, {ascii(each)[:60]}: not UTF-8 text\n")
            sys.exit(USER_ERROR)
