"""The arguments of quick commands (see `jobs.cli.main`), read with argparse."""

from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from typing import NoReturn

from jobs.cli.lines import Exit, fail


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        fail(f"{message}; see {self.prog} --help", Exit.USER_ERROR)


def parser_of(name: str, command: Callable[..., None], as_json: bool = True) -> ArgumentParser:
    """A parser, as a rule with --json, described as Typer's `command` is."""
    parser = _Parser(f"zeroshift {name}", description=command.__doc__, allow_abbrev=False)
    if as_json:
        parser.add_argument("--json", action="store_true", help="JSON on stdout")
    return parser


def joined(arguments: Sequence[str]) -> list[str]:
    """`--image -3x4` as `--image=-3x4`: a negative value is for the command to refuse."""
    found: list[str] = []
    for each in arguments:
        if each[:1] == "-" and each[1:2].isdigit() and found and found[-1].startswith("--"):
            found[-1] += f"={each}"
        else:
            found.append(each)
    return found
