"""Answers that go wrong in known ways: white space without end, loops, refusals. For the check."""

import re

WHITESPACE_RUN = re.compile(r"\s{64,}")
# Up to 80 characters, written 16 times over or more.
LOOP = re.compile(r"(.{3,80}?)\1{15,}", re.DOTALL)
SHORTEST = 200  # characters of a loop: less may be a list of equal numbers
END = 4000  # characters at the end that are searched: a loop does not come to an end
REFUSAL = re.compile(
    r"^\W*(?:i['\u2019]?m sorry|i am sorry|sorry,|i apologi[sz]e|"
    r"i can(?:no|['\u2019])t (?:help|assist|comply|provide|identify)|"
    r"i(?:['\u2019]m| am) (?:unable|not able) to|i must decline|as an ai\b)",
    re.IGNORECASE,
)


def runs_in_white_space(text: str) -> bool:
    return WHITESPACE_RUN.search(text) is not None


def runs_in_circles(text: str) -> bool:
    """Whether the same few words come over and over near the end of `text`.

    Rows of dots and rules of tables, which have neither letter nor digit, are none.
    """
    if len(text) < SHORTEST:
        return False
    loops = LOOP.finditer(text[-END:])
    return any(len(loop[0]) >= SHORTEST and re.search(r"[^\W_]", loop[1]) for loop in loops)


def refuses(text: str) -> bool:
    """Whether `text` begins the way in which models decline."""
    return REFUSAL.match(text) is not None
