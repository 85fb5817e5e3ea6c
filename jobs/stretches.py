"""Stretches of time, `(from, to)` in any unit: their union, their difference, their length.

Answers are sorted and apart. The worker uses it too: it knows nothing of money.
"""

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T", int, float)


def union(stretches: Iterable[tuple[T, T]]) -> list[tuple[T, T]]:
    """Whatever lies in any of them, once; what is empty or turned around is nothing."""
    found: list[tuple[T, T]] = []
    for begin, end in sorted(stretches):
        if end <= begin:
            continue
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found


def within(stretches: Iterable[tuple[T, T]], begin: T, end: T) -> list[tuple[T, T]]:
    """What of them lies between two moments."""
    cut = ((max(begin, a), min(end, b)) for a, b in stretches)
    return union(each for each in cut if each[0] < each[1])


def without(stretches: Iterable[tuple[T, T]], taken: Iterable[tuple[T, T]]) -> list[tuple[T, T]]:
    """What of them lies in none of `taken`."""
    left = union(stretches)
    for begin, end in union(taken):
        left = [
            part
            for a, b in left
            for part in ((a, min(b, begin)), (max(a, end), b))
            if part[0] < part[1]
        ]
    return left


def length(stretches: Iterable[tuple[T, T]]) -> T:
    """How long they are together; they are apart."""
    return sum(end - begin for begin, end in stretches)


def capped(stretches: Iterable[tuple[T, T]], most: int) -> list[tuple[T, T]]:
    """Their union in at most so many, by closing the smallest gaps between them."""
    found = union(stretches)
    if len(found) <= most:
        return found
    gaps: list[tuple[T, int]] = sorted(
        (found[n - 1][1] - found[n][0], n) for n in range(1, len(found))
    )
    firsts: list[int] = [0, *sorted(n for _, n in gaps[: most - 1])]  # the widest gaps stay open
    lasts = [*(n - 1 for n in firsts[1:]), len(found) - 1]
    return [(found[a][0], found[b][1]) for a, b in zip(firsts, lasts, strict=True)]
