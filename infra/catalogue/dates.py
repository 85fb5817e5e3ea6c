"""How old a row is. Dates are as the source gave them: a day, a month, or none."""

import re
from datetime import date

FRESH_DAYS = 60
CONFIGURED = "set by configuration"  # a price that the user answers for: it has no age


def known_date(dated: str) -> date | None:
    """The day of "2026-11-09", the first of "2026-06", else None."""
    found = re.fullmatch(r"(\d{4})-(\d{2})(?:-(\d{2}))?", dated)
    if found is None:
        return None
    try:
        return date(int(found[1]), int(found[2]), int(found[3] or 1))
    except ValueError:
        return None


def stale(dated: str, today: date) -> bool:
    """Whether a price is more than 60 days old, or of unknown age."""
    if dated == CONFIGURED:
        return False
    day = known_date(dated)
    return day is None or (today - day).days > FRESH_DAYS


def told(dated: str, today: date) -> str:
    """The date with what is to be said about it: "2026-06 (stale)"."""
    return f"{dated} (stale)" if stale(dated, today) else dated
