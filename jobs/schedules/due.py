"""Which of the times that have passed are run, and which are missed: pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice, takewhile

from jobs.schedules.fires import find_zone, fires
from jobs.schedules.schedule import Plan, Schedule

ON_TIME_S = 900.0  # so that a cron job that looks every few minutes is in time
MOST = 100_000  # two months of minutes; what is older is only counted as one


@dataclass(frozen=True, slots=True)
class Due:
    """What is to be done: `missed` are only told of; `run` is the next to run, or None.

    last   whether nothing after `run` is due: it takes all that is new, and an earlier one only
           what was there at its time
    """

    missed: tuple[float, ...] = ()
    run: float | None = None
    last: bool = True


def due(schedule: Schedule, now: float) -> Due:
    """What is due of a schedule that is not paused; `now` in seconds since the epoch."""
    plan = schedule.plan
    passed = list(islice(takewhile(lambda at: plan.starts_at(at) <= now, _after(schedule)), MOST))
    if not passed:
        return Due()
    kept = _kept(plan, passed, now, schedule.waiting)
    missed = tuple(passed[: len(passed) - len(kept)])
    return Due(missed, kept[0] if kept else None, len(kept) <= 1)


def _kept(plan: Plan, passed: list[float], now: float, waiting: bool) -> list[float]:
    """The last ones, which are run."""
    if plan.catch_up == "all":
        return passed[-plan.catch_up_limit :]
    late = now - plan.starts_at(passed[-1]) > ON_TIME_S
    return [] if plan.catch_up == "none" and late and not waiting else passed[-1:]


def _after(schedule: Schedule) -> Iterator[float]:
    return (moment.timestamp() for moment in upcoming(schedule.plan, schedule.cursor))


def upcoming(plan: Plan, after: float) -> Iterator[datetime]:
    """Nominal times after `after`, in UTC."""
    return fires(plan.cron, find_zone(plan.zone), after)
