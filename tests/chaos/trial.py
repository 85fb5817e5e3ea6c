"""One trial: a job, a fault at its moment, the end of the job, and what it left."""

import time
from dataclasses import dataclass, field
from itertools import pairwise

from jobs.addresses import JobPaths
from jobs.record import Record
from tests.chaos.checks import (
    asked_again,
    books_problems,
    done_again,
    final_problems,
    markers,
    results_problems,
)
from tests.chaos.faults import Fault, strike
from tests.chaos.lab import BUCKET, Lab
from tests.waiting import eventually

REPLICAS = 1
STRIKE_S, END_S = 180.0, 400.0
HEADINGS = (
    f"{'seed':>4} {'fault':<12} {'moment':<11} {'recovered s':>11} {'shards again':>12} "
    f"{'asked again':>11} {'epochs':>6} {'job s':>6}  ok"
)


@dataclass
class Trial:
    """What came of a seed.

    recovered_s    the longest time without a commit from the fault on
    shards_again   worked to the end, and not what counts
    asked_again    questions beyond the first about a picture: what was in hand when it struck
    """

    fault: Fault
    job_id: str
    recovered_s: float
    shards_again: int
    asked_again: int
    epochs: int
    job_s: float
    problems: list[str] = field(default_factory=list)

    @property
    def line(self) -> str:
        said = "ok" if not self.problems else "; ".join(self.problems)
        return (
            f"{self.fault.seed:>4} {self.fault.name:<12} {self.fault.moment:<11} "
            f"{self.recovered_s:>11.1f} {self.shards_again:>12} {self.asked_again:>11} "
            f"{self.epochs:>6} {self.job_s:>6.1f}  {said}"
        )


def try_fault(lab: Lab, fault: Fault) -> Trial:
    """Run a job through a fault; a controller stays, with its cluster if that still lives."""
    if fault.cold:
        lab.rest()
    lab.deaths.clear()
    lab.tend()
    job_id, began = lab.submit(f"chaos-{fault.seed}").job_id, time.time()
    struck = eventually(lambda: _struck(lab, fault, job_id), STRIKE_S)
    moment = time.time()
    ended = eventually(lambda: _ended(lab, fault, job_id, moment), END_S, 0.5)
    lab.proxy.trouble(None)
    record = lab.record(job_id)
    problems = [*lab.deaths, *results_problems(lab.store, record)]
    again = done_again(lab.store, job_id)
    problems += lab.leaks()
    if not struck:
        problems.insert(0, "the fault found nothing to strike")
    if not ended:
        problems.insert(0, f"not ended within {END_S:g} s")
    if again > REPLICAS:
        problems.append(f"{again} shards done again; allowed: {REPLICAS}")
    return Trial(
        fault,
        job_id,
        _recovered(lab, record, moment),
        again,
        asked_again(lab, job_id),
        record.epoch,
        time.time() - began,
        problems,
    )


def _struck(lab: Lab, fault: Fault, job_id: str) -> bool:
    record = lab.record(job_id)
    if record.state.ended:
        return False
    if fault.after is not None:
        committed = sum(1 for _ in lab.store.list(JobPaths.of(BUCKET, job_id).markers))
        if committed < fault.after:
            return False
    return strike(lab, fault, _cluster_of(lab, job_id))


def _cluster_of(lab: Lab, job_id: str) -> str:
    """The cluster that the job is on, from the moment that it was intended; empty before."""
    found = [each for each in lab.clusters() if each.tenant == job_id and each.gone_at is None]
    return found[0].cluster_id if found else ""


def _ended(lab: Lab, fault: Fault, job_id: str, moment: float) -> bool:
    """Also ends the network's trouble, and starts the controller that takes over."""
    if fault.trouble is not None and time.time() > moment + fault.lasts_s:
        lab.proxy.trouble(None)
    lab.tend()
    return lab.record(job_id).state.ended


def _recovered(lab: Lab, record: Record, moment: float) -> float:
    """A victim may still commit something while it dies: so not simply the next commit."""
    commits = sorted(each.ended_at for each in markers(lab.store, record.job_id))
    later = [at for at in commits if at > moment] or [
        record.entered.get(record.state.value, moment)
    ]
    return max(after - before for before, after in pairwise([moment, *later]))


def close_books(lab: Lab, trials: list[Trial]) -> list[str]:
    """Let everything go, then look at what is left, in the ledger and on the machine.

    What concerns one job is added to its trial; the rest is answered.
    """
    lab.deaths.clear()
    lab.rest()
    lab.reap()
    for trial in trials:
        found = list(final_problems(lab, trial.job_id))
        if found:
            trial.problems += found
            print(f"{trial.fault.seed:>4} at the end: {'; '.join(found)}")
    left = [f"still runs: {each}" for each in lab.left()]
    return [*lab.deaths, *left, *books_problems(lab)]
