"""Arrival traces from a seed: four ways in which pictures come. `python -m jobs.policy.generate`
writes those that come with the package.

Each is three weeks of one line's jobs, in whole seconds, from midnight of a Monday. They are made
up: shapes that people describe, no one's records.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from jobs.policy.arrivals import Arrival, written

DAYS, DAY_S, HOUR_S = 21, 86400, 3600
IMAGE_S = 0.4  # seconds of work a picture
SEED = 20261130


def nightly(random: Random) -> Iterator[float]:
    """Each night at about two, 12 to 24 batches some minutes apart; now and then a late one."""
    for day in range(DAYS):
        at = day * DAY_S + 2 * HOUR_S + random.gauss(0, 300)
        for _ in range(random.randint(12, 24)):
            yield at
            at += random.expovariate(1 / 150)
        if random.random() < 0.3:
            yield day * DAY_S + random.uniform(8, 20) * HOUR_S


def poisson(random: Random) -> Iterator[float]:
    """Round the clock, memoryless, one in twelve minutes."""
    at = random.expovariate(1 / 720)
    while at < DAYS * DAY_S:
        yield at
        at += random.expovariate(1 / 720)


def shifts(random: Random) -> Iterator[float]:
    """Two shifts, five days a week: a burst every two hours as lots close, and strays between."""
    for day in range(DAYS):
        if day % 7 >= 5:
            continue
        for hour in range(6, 22, 2):
            at = day * DAY_S + hour * HOUR_S + random.uniform(0, 600)
            for _ in range(random.randint(4, 12)):
                yield at
                at += random.expovariate(1 / 90)
        for _ in range(random.randint(0, 4)):
            yield day * DAY_S + random.uniform(6, 22) * HOUR_S


def day_night(random: Random) -> Iterator[float]:
    """A busy day that fades into the night, three quiet hours, and now and then a day off."""
    for day in range(DAYS):
        if random.random() < 0.1:
            continue
        at = day * DAY_S + 6.0 * HOUR_S
        while at < (day * 24 + 27) * HOUR_S:
            hour = (at - day * DAY_S) / HOUR_S
            mean = 240 if 8 <= hour < 18 else 1800
            at += random.expovariate(1 / mean)
            yield at


KINDS: dict[str, Callable[[Random], Iterator[float]]] = {
    "nightly": nightly,
    "poisson": poisson,
    "shifts": shifts,
    "day_night": day_night,
}
MEAN_IMAGES = {"nightly": 120, "poisson": 120, "shifts": 60, "day_night": 80}


def generate(kind: str, seed: int) -> tuple[Arrival, ...]:
    """The trace of that kind and seed, always the same."""
    random = Random(f"{kind} {seed}")
    moments = sorted(round(max(0.0, at)) for at in KINDS[kind](random))
    return tuple(_job(at, MEAN_IMAGES[kind], random) for at in moments)


def _job(at: int, mean: int, random: Random) -> Arrival:
    images = max(1, round(random.lognormvariate(0, 0.6) * mean))
    return Arrival(at, max(1, round(images * IMAGE_S)), images)


def trace_text(kind: str, seed: int = SEED) -> str:
    return written(generate(kind, seed), f"jobs.policy.generate, {kind}, seed {seed}")


def main() -> None:
    for kind in KINDS:
        (Path(__file__).parent / "traces" / f"{kind}.csv").write_text(trace_text(kind))


if __name__ == "__main__":
    main()
