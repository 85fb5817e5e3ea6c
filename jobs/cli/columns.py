"""Tables as plain columns: one line a row wherever it goes, so that pipes can be searched and cut.

A terminal too narrow for all columns gets the first ones, and is told which were left out.
"""

from collections.abc import Sequence

from rich.console import Console

from jobs.cli.terminal import err

GAP = "  "


def print_columns(
    console: Console,
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[int] = (),
    whole: bool = False,
) -> None:
    """Print `rows` under `names`; the columns numbered in `right` are set to the right.

    With `whole` no column is left out: the terminal breaks its lines.
    """
    lines = [names, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(names))]
    kept = _kept(widths, console.width) if console.is_terminal and not whole else len(names)
    text = "\n".join(_line(line[:kept], widths, right) for line in lines)
    console.print(text, markup=False, emoji=False)
    if kept < len(names):
        left_out = ", ".join(names[kept:])
        err.print(f"too narrow for: {left_out}; widen the terminal, or use --json")


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> str:
    set_out = (
        cell.rjust(widths[column]) if column in right else cell.ljust(widths[column])
        for column, cell in enumerate(cells)
    )
    return GAP.join(set_out).rstrip()


def _kept(widths: Sequence[int], room: int) -> int:
    """How many of the first columns fit; at least one."""
    used, kept = widths[0], 1
    for width in widths[1:]:
        used += len(GAP) + width
        if used > room:
            break
        kept += 1
    return kept


def shown(value: object) -> str:
    return "unknown" if value is None else str(value)


def yes_or_no(value: bool | None) -> str:
    return {True: "yes", False: "no", None: "unknown"}[value]
