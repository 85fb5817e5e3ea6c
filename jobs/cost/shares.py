"""Cut an amount by weights so that the parts sum to it exactly: the method of largest remainders.

In integers throughout, so that it is exact at any scale.
"""

from collections.abc import Sequence
from decimal import Decimal
from math import lcm

QUANTUM = Decimal("0.000000001")  # of a USD; amounts are rounded once more when they are shown
QUANTA = 10**9


def share(amount: Decimal, weights: Sequence[Decimal]) -> list[Decimal]:
    """Cut `amount`, a multiple of the quantum, by `weights`; the parts sum to it exactly.

    What rounding down leaves goes, a quantum each, to the largest fractions; with no weight at all
    the parts are equal.
    """
    ratios = [weight.as_integer_ratio() for weight in weights]
    common = lcm(*(below for _, below in ratios))
    whole = [above * (common // below) for above, below in ratios]
    return [in_usd(part) for part in share_units(in_quanta(amount), whole)]


def share_units(amount: int, weights: Sequence[int]) -> list[int]:
    """The same for whole numbers: `amount` units by `weights`, none of them negative."""
    if not weights:
        return []
    total = sum(weights)
    used, total = (weights, total) if total > 0 else ([1] * len(weights), len(weights))
    parts, rests = [], []
    for weight in used:
        part, rest = divmod(amount * weight, total)
        parts.append(part)
        rests.append(rest)
    left = amount - sum(parts)
    if left:
        largest = sorted(range(len(parts)), key=rests.__getitem__, reverse=True)  # first stay first
        for index in largest[:left]:
            parts[index] += 1
    return parts


def in_quanta(usd: Decimal) -> int:
    """How many quanta an amount is; it is a multiple of the quantum."""
    above, below = usd.as_integer_ratio()
    quanta, rest = divmod(above * QUANTA, below)
    if rest:
        raise ValueError(f"{usd} USD is no multiple of {QUANTUM}")
    return quanta


def in_usd(quanta: int) -> Decimal:
    """An amount of so many quanta, with all its nine places."""
    return Decimal(quanta).scaleb(-9) if abs(quanta) < 10**28 else Decimal(f"{quanta}E-9")
