"""What a running job will have cost at its end, by its rate so far and what is left.

A guess, and said to be one: the rate of the first pictures, node time at the price so far, and the
end of the cluster on top. Unknown while no picture is done, or when a price is.
"""

from decimal import Decimal

from jobs.cost.budgets import DRAIN_S
from jobs.money import exact
from jobs.record import Record
from jobs.states import State


def projected_usd(record: Record, now: float, idle_s: float = 0.0) -> Decimal | None:
    """USD at the end; None: unknown.

    idle_s   seconds that the cluster waits for another job before it goes
    """
    cost = record.cost_usd
    if record.state.ended or cost is None:
        return cost
    before = min(cost, record.usd_before or Decimal(0))
    left_s = seconds_left(record, now)
    began = record.entered.get(State.PROVISIONING.value)
    if left_s is None or began is None or now <= began:
        return None
    rate = (cost - before) / exact(now - began)
    return cost + rate * exact(left_s + idle_s + DRAIN_S)


def seconds_left(record: Record, now: float) -> float | None:
    """Until the last picture, by the rate since work began; None: unknown."""
    counts, rate = record.counts, record.pictures_a_second(now)
    if record.state is State.FINALIZING:
        return 0.0
    if record.state is not State.RUNNING or rate is None:
        return None
    return max(0, counts.total - counts.done) / rate
