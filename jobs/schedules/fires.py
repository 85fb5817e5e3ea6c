"""When a cron expression fires in a time zone: pure, on top of cronsim's calendar.

cronsim goes through local times on a calendar without a zone; what these are in UTC is decided
here. A fixed time of the day (neither minute nor hour begins with a star) fires once a day: where
the clock is set back, at the first of the two; where it is set forward over it, in the first minute
after. A pattern with a star is an interval: it fires at every minute that really comes and reads
so, twice where the clock is set back, and not at all where it is set forward.
"""

import difflib
import heapq
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from jobs.errors import UserError

FIELDS = "minute hour day month weekday"
NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
# In the database, but no place's time: another one on each machine, or none.
NOWHERE = {"localtime", "posixrules", "Factory"}
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
REORDERED = timedelta(hours=3)  # how far a clock that is set back can mix the order of local times


def find_zone(name: str) -> ZoneInfo:
    """The time zone of that name; `UserError` with the nearest one when there is none."""
    known = _zones()
    if name in known:
        return ZoneInfo(name)
    near = _offset(name) or _nearest(name, known)
    hint = f"did you mean {near!r}? " if near else ""
    raise UserError(
        f"time zone {name!r}: unknown; {hint}allowed: names such as Europe/Berlin, "
        "America/New_York, Asia/Kolkata, UTC"
    )


def _offset(name: str) -> str | None:
    """The zone of an offset such as UTC+2 or Z; in the database the sign is the other one."""
    found = re.fullmatch(r"(?:UTC|GMT)?([+-])0?(\d{1,2})(?::?00)?", name.strip(), re.IGNORECASE)
    if found is None:
        return "UTC" if name.strip().casefold() in ("z", "zulu time") else None
    zone = f"Etc/GMT{'-' if found[1] == '+' else '+'}{found[2]}"
    return zone if zone in _zones() else None


def _nearest(name: str, known: Iterable[str]) -> str | None:
    by_ending = {zone.rpartition("/")[2].casefold(): zone for zone in known}
    wanted = name.strip().casefold().replace(" ", "_")
    lower = {zone.casefold(): zone for zone in known} | by_ending
    near = difflib.get_close_matches(wanted, lower, n=1, cutoff=0.6)
    return lower[near[0]] if near else None


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones() - NOWHERE)


def check_cron(expression: str) -> None:
    """`UserError` when it is no expression of five fields, or never fires."""
    fields = expression.split()
    if len(fields) != 5:
        same = NAMED.get(expression.strip().casefold())
        hint = f"did you mean {same!r}? " if same else ""
        count = f"{len(fields)} field{'s' * (len(fields) != 1)}"
        raise UserError(f"cron {expression!r}: {count}; {hint}allowed: five, {FIELDS}")
    try:
        next(CronSim(expression, datetime(2026, 1, 1)))
    except CronSimError as error:
        said = f"{str(error)[:1].lower()}{str(error)[1:]}"
        if said.endswith("day-of-month"):
            said += ", or none that such a month has"
        raise UserError(
            f"cron {expression!r}: {said}; allowed: five fields, "
            f"{FIELDS}, such as '30 6 * * MON-FRI' or '*/15 * * * *'"
        ) from error
    except StopIteration:
        raise UserError(f"cron {expression!r}: never fires; allowed: a day that exists") from None


def fires(expression: str, zone: ZoneInfo, after: float) -> Iterator[datetime]:
    """Every moment after `after` (seconds since the epoch) that it fires, in UTC and in order."""
    start = datetime.fromtimestamp(after, UTC)
    moments = _fixed if _is_fixed(expression) else _intervals
    last = start
    for moment in moments(expression, zone, start):
        if moment > last:
            last = moment
            yield moment


def said(moment: datetime, zone: ZoneInfo) -> tuple[str, str]:
    """A moment as a clock in `zone` reads it, and in UTC, for people."""
    utc = moment.astimezone(UTC)
    return f"{moment.astimezone(zone):%a %Y-%m-%d %H:%M %Z}", f"{utc:%Y-%m-%d %H:%M}Z"


def _is_fixed(expression: str) -> bool:
    minute, hour = expression.split()[:2]
    return not minute.startswith("*") and not hour.startswith("*")


def _local(expression: str, zone: ZoneInfo, start: datetime) -> Iterator[datetime]:
    """Local times without a zone, from a day before `start`: what was skipped may fire late."""
    here = start.astimezone(zone).replace(tzinfo=None, second=0, microsecond=0)
    yield from CronSim(expression, here - DAY - MINUTE)


def _fixed(expression: str, zone: ZoneInfo, start: datetime) -> Iterator[datetime]:
    for local in _local(expression, zone, start):
        while not (there := _moments(local, zone)):
            local += MINUTE
        yield there[0]


def _intervals(expression: str, zone: ZoneInfo, start: datetime) -> Iterator[datetime]:
    """In order: a local hour that comes twice comes as a whole, and then as a whole again."""
    waiting: list[datetime] = []
    for local in _local(expression, zone, start):
        for moment in _moments(local, zone):
            heapq.heappush(waiting, moment)
        sure = local.replace(tzinfo=zone).astimezone(UTC) - REORDERED
        while waiting and waiting[0] < sure:
            yield heapq.heappop(waiting)
    yield from sorted(waiting)


def _moments(local: datetime, zone: ZoneInfo) -> list[datetime]:
    """When a clock in `zone` reads `local`: once, twice or, where it is set forward, never."""
    both = (local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    read = {there for there in both if there.astimezone(zone).replace(tzinfo=None) == local}
    return sorted(read)
