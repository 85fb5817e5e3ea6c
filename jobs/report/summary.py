"""The receipt in words and figures for people: what stands above the pictures in the page."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from markupsafe import Markup

from jobs.order import Marker
from jobs.report.charts import BINS, Part, Work, area, bar, nice, rates

RESTING = "resting"
TABLE_STEPS = 12
# Colours in the page's style, by what a phase is for; each class of the bill has one of its own.
TONES = {
    "queued": "quiet",
    "planning": "plan",
    "provisioning": "start",
    "running": "work",
    "finalizing": "close",
    RESTING: "quiet",
    "startup": "start",
    "model_load": "plan",
    "input_wait": "close",
    "wasted": "waste",
    "work": "work",
    "idle": "quiet",
    "teardown": "down",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One phase, as a line of a table: its amounts, and its share of them all in percent."""

    name: str
    tone: str
    seconds: str
    share: str
    usd: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing and the lines of its table; `scale` stands beside it, `ends` below it."""

    svg: Markup
    lines: Sequence[Any]
    scale: Sequence[str] = ()
    ends: Sequence[str] = ()


def duration(seconds: float) -> str:
    """`1 h 05 min`, `3 min 20 s`, `45 s` or `0.4 s`."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    if whole >= 60:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"


def money(usd: str | None) -> str:
    """As many places as mean something; what is not known is not 0."""
    if usd is None:
        return "unknown"
    value = Decimal(usd)
    return f"{value:,.2f}" if value >= 10 else f"{value:.4f}"


def even(usd: str | None) -> str:
    """For columns: always as many places, so that they stand under each other."""
    return "unknown" if usd is None else f"{Decimal(usd):,.4f}"


def exact(usd: str | None) -> str:
    """An amount with all places that a bill is read with."""
    return "unknown" if usd is None else f"{Decimal(usd):.6f}"


def worked_s(receipt: Mapping[str, Any]) -> float:
    """From the request to the last row's results, without the cluster's rest after it."""
    phases: dict[str, float] = receipt["phases_s"]
    return sum(seconds for name, seconds in phases.items() if name != RESTING)


def when(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M UTC")


def phases(receipt: Mapping[str, Any]) -> Chart:
    """The states that the job went through."""
    seconds = {name: each for name, each in receipt["phases_s"].items() if each or name != RESTING}
    total = sum(seconds.values())
    parts = [Part(name, value, _tone(name)) for name, value in seconds.items()]
    lines = [
        Line(part.name, part.tone, duration(part.value), percent(part.value, total))
        for part in parts
    ]
    return Chart(bar("Seconds in each state of the job", parts), lines)


def bill(receipt: Mapping[str, Any]) -> Chart:
    """The phases of the bill that took any time, and what is no node's; they sum to it.

    Drawn by cost, or by seconds where a cost is unknown.
    """
    said = receipt["bill"]
    lines = [(each["phase"], each["seconds"], each["usd"]) for each in said["phases"]]
    lines = [line for line in lines if Decimal(line[1])] or lines
    beside = [(kind, None, usd) for kind, usd in _beside(said.get("lines", ())).items()]
    known = all(usd is not None for _, _, usd in lines)
    parts = [
        Part(name, float(usd if known else seconds), _tone(name)) for name, seconds, usd in lines
    ]
    total = sum(part.value for part in parts)
    shares = [percent(part.value, total) for part in parts] + [""] * len(beside)
    table = [
        Line(name, _tone(name), "" if seconds is None else seconds, part, exact(usd))
        for (name, seconds, usd), part in zip(lines + beside, shares, strict=True)
    ]
    return Chart(bar("What each phase of the bill cost", parts), table)


def _beside(lines: Iterable[Mapping[str, Any]]) -> dict[str, str | None]:
    """USD of what is no node's, each kind once; one that is unknown makes their sum unknown."""
    sums: dict[str, str | None] = {}
    for each in lines:
        before: str | None = sums.get(each["kind"], "0")
        usd: str | None = each["usd"]
        unknown = before is None or usd is None
        sums[each["kind"]] = None if unknown else f"{Decimal(before or 0) + Decimal(usd or 0)}"
    return sums


def steps(markers: Iterable[Marker]) -> list[tuple[float, float]]:
    """Rows a second over time, by the commit markers; empty without any."""
    found = list(markers)
    first = min((each.started_at for each in found), default=0.0)
    work = [Work(each.started_at - first, each.ended_at - first, each.rows) for each in found]
    return [(round(moment, 3), round(rate, 4)) for moment, rate in rates(work)]


def throughput(points: Sequence[Sequence[float]]) -> Chart | None:
    """The rate over time; None when nothing was worked."""
    if not points:
        return None
    pairs = [(moment, rate) for moment, rate in points]
    last = pairs[1][0] * len(pairs) if len(pairs) > 1 else 1.0
    width = BINS // TABLE_STEPS
    lines = []
    for at in range(0, len(pairs), width):
        some = pairs[at : at + width]
        mean = sum(rate for _, rate in some) / len(some)
        lines.append((duration(some[0][0]), f"{mean:.2f}"))
    top = nice(max(rate for _, rate in pairs))
    svg = area(f"Pictures a second, over {duration(last)}", pairs, last, top)
    scale = [f"{top * share:g}" for share in (1.0, 0.5, 0.0)]
    return Chart(svg, lines, scale, ("first picture", duration(last)))


def _tone(name: str) -> str:
    return TONES.get(name, "other")


def percent(part: float, total: float) -> str:
    """A share in whole percent; `-` of nothing."""
    return f"{100 * part / total:.0f} %" if total > 0 else "-"
