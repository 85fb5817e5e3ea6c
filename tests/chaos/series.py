"""A series of trials in one lab, in a process of its own."""

import os
import tempfile
import time
from itertools import takewhile
from pathlib import Path

from tests.chaos.faults import draw
from tests.chaos.lab import lab
from tests.chaos.trial import Trial, close_books, try_fault


def run_series(seeds: list[int], until: float) -> tuple[list[Trial], list[str]]:
    """The trials of one lab, told one by one, and what is wrong beside them; none begins after
    `until`, in seconds since the epoch."""
    with tempfile.TemporaryDirectory(prefix="zs", ignore_cleanup_errors=True) as name:
        with lab(Path(name)) as place:
            in_time = takewhile(lambda seed: time.time() < until, seeds)
            trials = [_told(try_fault(place, draw(seed))) for seed in in_time]
            problems = close_books(place, trials)
            log = place.log.read_bytes()
        if problems or any(trial.problems for trial in trials):
            kept = Path(tempfile.gettempdir(), f"zeroshift-chaos-{os.getpid()}.log")
            kept.write_bytes(log)
            print(f"the log of its controllers: {kept}", flush=True)
    return trials, problems


def _told(trial: Trial) -> Trial:
    print(trial.line, flush=True)
    return trial
