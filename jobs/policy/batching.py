"""How long a small job is held so that another can join it and one cold start serves both."""

from collections.abc import Sequence

from jobs.policy.arrivals import Arrival


def held(now: float, hold_until: float, warm: bool, others: int) -> bool:
    """Whether a queued job is to be left alone for now.

    hold_until   arrival and the job's own `max_wait_s`
    warm         a cluster of ours is there: waiting would save no start
    others       other jobs that nobody has begun: they share a start with this one now
    """
    return not warm and not others and now < hold_until


def launch_at(arrivals: Sequence[Arrival], at: int) -> float:
    """When a cluster is launched for the arrival `at` that finds none, by the same rule."""
    first = arrivals[at]
    until = first.at_s + first.max_wait_s
    return min(until, arrivals[at + 1].at_s) if at + 1 < len(arrivals) else until
