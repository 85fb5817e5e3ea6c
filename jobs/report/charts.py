"""Charts as inline SVG: shares of a whole as one bar, a rate over time as an area.

Plain functions from numbers to markup. Colours and type are the page's, by class; each chart has a
title for who can't see it, and the page has a table with the same figures beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

WIDTH, BAR_HEIGHT, GAP = 600.0, 14.0, 2.0
AREA_HEIGHT = 150.0
BINS = 60
NICE = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, slots=True)
class Part:
    """A share of a whole; `tone` names its colour in the page's style."""

    name: str
    value: float
    tone: str


def bar(title: str, parts: Sequence[Part]) -> Markup:
    """One bar, cut by the parts' values; parts of nothing are left out."""
    present = [part for part in parts if part.value > 0]
    total = sum(part.value for part in present)
    room = WIDTH - GAP * max(0, len(present) - 1)
    x, pieces = 0.0, Markup()
    for part in present:
        width = room * part.value / total
        pieces += Markup(
            '<rect class="tone-{tone}" x="{x}" y="0" width="{width}" height="{height}">'
            "<title>{name}</title></rect>"
        ).format(tone=part.tone, x=_px(x), width=_px(width), height=_px(BAR_HEIGHT), name=part.name)
        x += width + GAP
    return _svg(title, BAR_HEIGHT, pieces)


@dataclass(frozen=True, slots=True)
class Work:
    """Rows that were made between two moments, in seconds since the first."""

    start: float
    end: float
    rows: int


def rates(work: Sequence[Work], bins: int = BINS) -> list[tuple[float, float]]:
    """The rate over time: moment and rows a second, in equal steps from 0 to the last moment.

    The rows of a piece of work are spread evenly over its time, so steps sum to all rows.
    """
    last = max((each.end for each in work), default=0.0)
    if last <= 0:
        return []
    step = last / bins
    rows = [0.0] * bins
    for each in work:
        start, end = max(0.0, each.start), max(each.end, each.start + 1e-6)
        for number in range(min(bins - 1, int(start / step)), min(bins - 1, int(end / step)) + 1):
            shared = min(end, (number + 1) * step) - max(start, number * step)
            rows[number] += each.rows * max(0.0, shared) / (end - start)
    return [(number * step, count / step) for number, count in enumerate(rows)]


def area(title: str, points: Sequence[tuple[float, float]], last: float, top: float) -> Markup:
    """Steps from `points` (seconds, rate) to `last`, under a scale that ends at `top`."""
    across, down = WIDTH / (last or 1), AREA_HEIGHT / top
    line = ""
    for number, (moment, rate) in enumerate(points):
        until = points[number + 1][0] if number + 1 < len(points) else last
        y = _px(AREA_HEIGHT - rate * down)
        line += f"{'L' if line else 'M'}{_px(moment * across)} {y}H{_px(until * across)}"
    shape = f"{line}V{_px(AREA_HEIGHT)}H0Z" if line else ""
    grid = Markup().join(
        Markup('<line class="grid" x1="0" x2="{x}" y1="{y}" y2="{y}"/>').format(
            x=_px(WIDTH), y=_px(AREA_HEIGHT * share)
        )
        for share in (0.0, 0.5, 1.0)
    )
    pieces = Markup('<path class="fill" d="{}"/><path class="line" d="{}"/>').format(shape, line)
    return _svg(title, AREA_HEIGHT, grid + pieces)


def nice(value: float) -> float:
    """The next round number from `value` on; 1 of nothing."""
    if value <= 0:
        return 1.0
    power = 1.0
    while power * 10 <= value:
        power *= 10
    while power > value:
        power /= 10
    return next(power * each for each in NICE if power * each >= value * (1 - 1e-9))


def _px(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _svg(title: str, height: float, pieces: Markup) -> Markup:
    """Stretched to the room that the page gives it; so it holds no text."""
    return Markup(
        '<svg role="img" aria-label="{title}" viewBox="0 0 {width} {height}" '
        'preserveAspectRatio="none">{pieces}</svg>'
    ).format(title=title, width=_px(WIDTH), height=_px(height), pieces=pieces)
