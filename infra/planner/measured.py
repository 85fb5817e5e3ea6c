"""What earlier jobs measured for a model on a kind of node: it replaces what is assumed."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

WIDEST = 0.1  # a range is never told narrower than this share, however alike the jobs were


@dataclass(frozen=True, slots=True)
class Sample:
    """One ended job: replica-seconds of work, tokens in and out, seconds until it could work."""

    images: int
    tokens: int
    output_tokens: int
    work_s: float
    startup_s: float


@dataclass(frozen=True, slots=True)
class Measured:
    """Replica-seconds per token, prompt and answer alike: fastest, median and slowest job."""

    jobs: int
    fastest_s: float
    median_s: float
    slowest_s: float
    startup_s: float
    output_tokens: float


def measured(samples: Sequence[Sample]) -> Measured | None:
    """What `samples` say together; None when none of them did any work."""
    worked = [each for each in samples if each.tokens > 0 and each.work_s > 0 and each.images > 0]
    if not worked:
        return None
    rates = [each.work_s / each.tokens for each in worked]
    middle = median(rates)
    return Measured(
        jobs=len(worked),
        fastest_s=min(*rates, middle * (1 - WIDEST)),
        median_s=middle,
        slowest_s=max(*rates, middle * (1 + WIDEST)),
        startup_s=median(each.startup_s for each in worked),
        output_tokens=median(each.output_tokens / each.images for each in worked),
    )
