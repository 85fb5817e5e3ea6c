"""Regular expressions of a user's, with an end: a pattern such as `^(a+)+$` can take for ever."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

MOST_S = 0.2  # for one text; an honest pattern takes microseconds


class TooSlow(Exception):
    """The pattern did not come to an end on a text."""


def search(pattern: str, text: str) -> "regex.Match[str] | None":
    """As `re.search`; `TooSlow` after a fifth of a second."""
    import regex  # a few manifests have a pattern; every command would load it

    try:
        return regex.search(pattern, text, timeout=MOST_S)
    except TimeoutError as error:
        raise TooSlow(
            f"pattern {pattern!r} took more than {MOST_S:g} s on {text[:60]!r}; allowed: one "
            "without a repetition inside a repetition"
        ) from error
