"""A provider's meter: from the time that a node ran to the time that is billed.

The planner and the ledger read the same one. In whole milliseconds, so that it is exact.
"""

from decimal import ROUND_CEILING, Decimal

HOUR_S = 3600


def metered_ms(ran_ms: int, granularity_s: int | None, minimum_s: int | None) -> int:
    """What the meter shows after `ran_ms`: whole steps, and at least the minimum.

    A step that is unknown counts as an hour, and a minimum that is unknown as none: of the steps
    in use the largest, so that what we tell is not lower than the bill.
    """
    if ran_ms <= 0:
        return 0
    step_ms = 1000 * (HOUR_S if granularity_s is None else granularity_s)
    return max(-(-ran_ms // step_ms) * step_ms, 1000 * (minimum_s or 0))


def metered_s(seconds: Decimal, granularity_s: int | None, minimum_s: int | None) -> Decimal:
    """The same in seconds; part of a millisecond counts as a whole one."""
    ran_ms = int((seconds * 1000).to_integral_value(ROUND_CEILING))
    return Decimal(metered_ms(ran_ms, granularity_s, minimum_s)) / 1000


def starts_at(
    launched_at: float, joined_at: float | None, boot_billed: bool | None
) -> float | None:
    """When the meter starts: at the launch, but for a provider that is known not to bill booting.

    None: it has not started, as the node has not joined.
    """
    return joined_at if boot_billed is False else launched_at


def unit_words(granularity_s: int | None) -> str:
    """How time is billed, in words."""
    if granularity_s is None:
        return "billed as by the hour, since its billing unit is unknown"
    names = {1: "second", 60: "minute", HOUR_S: "hour"}
    return f"billed by the {names.get(granularity_s, f'{granularity_s} s')}"
