"""How far back: `7d`, `12h`, `2w` or a day such as 2026-11-01, as a moment."""

import re
from datetime import UTC, date, datetime

from jobs.errors import UserError

UNITS_S = {"h": 3600, "d": 86400, "w": 7 * 86400}
ALLOWED = "allowed: a span such as 12h, 7d or 4w, or a day such as 2026-11-01"


def parse_since(text: str, now: float) -> float:
    """The moment that `text` means, in seconds since the epoch; `UserError` in one line."""
    span = re.fullmatch(r"(\d{1,4})([hdw])", text)
    if span:
        return max(0.0, now - int(span[1]) * UNITS_S[span[2]])
    try:
        day = date.fromisoformat(text)
    except ValueError as error:
        raise UserError(f"--since: found {text!r}; {ALLOWED}") from error
    moment = datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
    if moment > now:
        raise UserError(f"--since: {text} is yet to come; {ALLOWED}")
    return moment
