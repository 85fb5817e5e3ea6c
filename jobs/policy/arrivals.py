"""Traces: when jobs arrived and how much work they brought, as small CSV files.

A file is a comment with the generator and its seed, a header, and a line for each arrival.
"""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from jobs.errors import UserError

HEADER = ("at_s", "work_s", "images")
NAMES = ("nightly", "poisson", "shifts", "day_night")


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job that arrives `at_s` after the trace's beginning, with `work_s` of a warm node's work.

    max_wait_s   how long it may be held for another to join it
    """

    at_s: float
    work_s: float
    images: int
    max_wait_s: float = 0.0


def read_trace(name: str) -> tuple[Arrival, ...]:
    """A trace that comes with the package, or a file of the same form; `UserError` in one line."""
    try:
        if name in NAMES:
            text = (files("jobs.policy") / "traces" / f"{name}.csv").read_text()
        else:
            text = Path(name).read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not text"
        allowed = f"allowed: a file, or one of {', '.join(NAMES)}"
        raise UserError(f"--trace: {name!r}: {why}; {allowed}") from error
    return parse_trace(text, name)


def parse_trace(text: str, source: str) -> tuple[Arrival, ...]:
    """Arrivals in their order of time."""
    numbered = [
        (number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.startswith("#")
    ]
    rows = list(csv.reader(line for _, line in numbered))
    if not rows or tuple(rows[0]) != HEADER:
        raise UserError(f"{source}: found no header; allowed: the first line {','.join(HEADER)}")
    lines = [number for number, _ in numbered[1:]]
    found = [_arrival(row, f"{source}:{at}") for row, at in zip(rows[1:], lines, strict=True)]
    if not found:
        raise UserError(f"{source}: found no arrivals; allowed: at least one")
    return tuple(sorted(found, key=lambda each: each.at_s))


def _arrival(row: list[str], source: str) -> Arrival:
    try:
        at_s, work_s, images = row
        arrival = Arrival(float(at_s), float(work_s), int(images))
    except ValueError as error:
        raise _not_so(row, source) from error
    limit = 1e12
    if not (0 <= arrival.at_s < limit and 0 <= arrival.work_s < limit and arrival.images >= 0):
        raise _not_so(row, source)
    return arrival


def _not_so(row: list[str], source: str) -> UserError:
    return UserError(
        f"{source}: found {','.join(row)!r}; allowed: seconds of arrival, seconds of work, pictures"
    )


def written(arrivals: Iterable[Arrival], comment: str) -> str:
    """The text of a trace file."""
    lines = [f"{each.at_s:.0f},{each.work_s:.0f},{each.images}" for each in arrivals]
    return "\n".join([f"# {comment}", ",".join(HEADER), *lines]) + "\n"
