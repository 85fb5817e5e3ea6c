"""Names as people write them: case, spaces and hyphens do not matter, and a near miss is told."""

import difflib
from collections.abc import Iterable

SUGGESTED = 3


def plain(name: str) -> str:
    """`name` without what people vary: "NVIDIA RTX 3090" and "rtx-3090" are the same."""
    letters = "".join(letter for letter in name.casefold() if letter.isalnum())
    return letters.removeprefix("nvidia")


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """The few of `known` that look most like `name`; those that begin with it come first."""
    by_plain = {plain(each): each for each in known}
    wanted = plain(name)
    begun = [each for key, each in by_plain.items() if wanted and key.startswith(wanted)]
    near = difflib.get_close_matches(wanted, by_plain, n=SUGGESTED, cutoff=0.6)
    return list(dict.fromkeys([*begun, *(by_plain[key] for key in near)]))[:SUGGESTED]


def no_such(what: str, name: str, known: Iterable[str]) -> str:
    """One line: what there is not, what was probably meant, and what there is."""
    names = list(known)
    near = nearest(name, names)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    return f"no {what} {name!r}; {hint}allowed: {', '.join(names)}"
