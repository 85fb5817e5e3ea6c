"""`make chaos`: a job of 400 pictures for each seed, one fault in each, and a table of what came.

CHAOS_SEEDS says how many seeds, or which: `36`, or `4,11,18`. CHAOS_LABS says how many labs work
them at a time, each with a store and clusters of its own. CHAOS_MINUTES bounds the time: no job is
begun after it, and the seeds that were left out are told.
"""

import math
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat

from tests.chaos.series import run_series
from tests.chaos.trial import HEADINGS

SEEDS, LABS = "36", "2"


def main() -> int:
    seeds = _seeds(os.environ.get("CHAOS_SEEDS", SEEDS))
    labs = int(os.environ.get("CHAOS_LABS", LABS))
    shares = [share for number in range(labs) if (share := seeds[number::labs])]
    until = time.time() + 60 * float(os.environ.get("CHAOS_MINUTES", math.inf))
    print(HEADINGS, flush=True)
    with ProcessPoolExecutor(len(shares), multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(run_series, shares, repeat(until)))
    trials = sorted((t for each, _ in found for t in each), key=lambda trial: trial.fault.seed)
    problems = [line for _, lines in found for line in lines]
    wrong = [trial for trial in trials if trial.problems]
    print("", HEADINGS, *(trial.line for trial in trials), *problems, sep="\n")
    print(f"{len(trials) - len(wrong)} of {len(trials)} seeds are ok")
    if left := sorted({*seeds} - {trial.fault.seed for trial in trials}):
        print(f"no time for seeds {', '.join(map(str, left))}")
    return 1 if wrong or problems or not trials else 0


def _seeds(text: str) -> list[int]:
    if "," in text:
        return [int(each) for each in text.split(",") if each]
    return list(range(int(text)))


if __name__ == "__main__":
    sys.exit(main())
