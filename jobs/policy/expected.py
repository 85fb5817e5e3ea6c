"""The idle window that a figure about the future counts with, before any has been decided."""

from infra.planner.local import REST_S
from jobs.policy.costs import LOCAL_START_S
from jobs.settings.settings import Settings


def expected_window_s(settings: Settings, start_s: float | None = None) -> float:
    """Seconds: the fixed window, or break-even's where the rule is to decide.

    start_s   what a start was measured to take; None: what is assumed
    """
    if settings.idle_window_s != "auto":
        return settings.idle_window_s
    return (LOCAL_START_S if start_s is None else start_s) + REST_S.expected
