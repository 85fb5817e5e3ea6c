"""The comparison of policies over traces, as figures: what the command prints and tests hold."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from jobs.policy.arrivals import Arrival
from jobs.policy.clairvoyant import clairvoyant
from jobs.policy.costs import CostModel
from jobs.policy.idle import BreakEven, Fixed, IdleRule
from jobs.policy.learned import Learned
from jobs.policy.replay import Outcome, replay

DAY_S = 86400.0


@dataclass(frozen=True, slots=True)
class Row:
    """A policy on one trace; `ratio` is its cost over the clairvoyant optimum's."""

    trace: str
    outcome: Outcome
    ratio: float


def policies(costs: CostModel) -> tuple[IdleRule, ...]:
    """Ours, the plain rule, and what clusters are usually set to."""
    usual = (Fixed(0.0), Fixed(60.0), Fixed(900.0), Fixed(math.inf))
    return (Learned(costs), BreakEven(costs), *usual)


def compare(traces: Mapping[str, Sequence[Arrival]], costs: CostModel) -> list[Row]:
    """Every policy on every trace, the optimum first."""
    return [row for name, arrivals in traces.items() for row in _rows(name, arrivals, costs)]


def _rows(name: str, arrivals: Sequence[Arrival], costs: CostModel) -> list[Row]:
    horizon = math.ceil(arrivals[-1].at_s / DAY_S) * DAY_S
    rules = (clairvoyant(arrivals, costs), *policies(costs))
    outcomes = [replay(arrivals, rule, costs, horizon) for rule in rules]
    least = outcomes[0].billed_s
    return [Row(name, each, each.billed_s / least if least else 1.0) for each in outcomes]


def total_usd(rows: Sequence[Row], policy: str) -> Decimal:
    return sum((row.outcome.total_usd for row in rows if row.outcome.policy == policy), Decimal(0))
