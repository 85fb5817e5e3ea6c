"""How often spot capacity is taken away: what was seen, and a prior where little was."""

import math
from dataclasses import dataclass

# Assumed until ledgers tell: as if one node had been taken in ten node-hours that nobody watched.
PRIOR_TAKEN, PRIOR_HOURS = 1.0, 10.0
SURE = 0.95  # a deadline is held with at least this probability


@dataclass(frozen=True, slots=True)
class Seen:
    """Preemptions in so many node-hours of spot capacity of one kind."""

    taken: int = 0
    node_hours: float = 0.0

    @property
    def per_hour(self) -> float:
        """Preemptions to expect in an hour of one node: a gamma prior's posterior mean."""
        return (PRIOR_TAKEN + self.taken) / (PRIOR_HOURS + self.node_hours)


def likely_most(mean: float, sure: float = SURE) -> int:
    """The fewest preemptions that are not exceeded with probability `sure`, by Poisson."""
    term = math.exp(-mean)
    if term == 0.0:  # a mean so large that the bound is as good as the normal one
        return math.ceil(mean + 1.645 * math.sqrt(mean))
    count, within = 0, term
    while within < sure:
        count += 1
        term *= mean / count
        within += term
    return count
