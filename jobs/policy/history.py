"""What arrivals so far would have cost: a few imagined clusters, each with its own window.

They see every job as it came, with what a delay by a cold start does to the jobs after it, and the
provider's meter. What each cost is kept by the hour of the day, and fades.
"""

from jobs.policy.costs import CostModel
from jobs.policy.idle import window_for
from jobs.policy.node import Node

DAY_S, HOUR_S = 86400.0, 3600.0
HALF_LIFE_S = 7 * DAY_S
BUDGETS = (0.0, 0.125, 0.25, 0.5, 1.0, 2.0)  # of a restart: what each imagined cluster waits for
EVEN = 1.0
# What an hour of the day tells of another that lies so many hours off: never nothing.
ALIKE = tuple(max(0.05, 0.5 ** (min(apart, 24 - apart) / 1.5) ** 2) for apart in range(24))


class _Imagined:
    """A cluster that always waits for the same budget, and what it cost by hour of the day."""

    def __init__(self, costs: CostModel, budget_s: float) -> None:
        self.budget_s = budget_s
        self.node = Node(costs)
        self.by_hour = [0.0] * 24

    def arrived(self, at: float, work_s: float, fade: float) -> None:
        node, before = self.node, self.node.paid_s
        hour = hour_of(node.free_at if node.up else at)
        advance(node, at, window_for(node.costs, node.age_s, self.budget_s) if node.up else 0.0)
        node.work(at, work_s)
        self.by_hour = [cost * fade for cost in self.by_hour]
        self.by_hour[hour] += node.paid_s - before - work_s


class History:
    """Arrivals as they came, in their order of time.

    ours   our own cluster, as the windows that were decided made it
    """

    def __init__(self, costs: CostModel) -> None:
        self.costs, self.jobs = costs, 0
        self.ours = Node(costs)
        self._imagined = [_Imagined(costs, share * costs.restart_s) for share in BUDGETS]
        self._window_s: float | None = None
        self._last = 0.0

    def decided(self, window_s: float) -> None:
        """The window that our cluster waits for; break-even's where nothing is told."""
        self._window_s = window_s

    def arrived(self, at: float, work_s: float) -> None:
        fade = 0.5 ** (max(0.0, at - self._last) / HALF_LIFE_S) if self.jobs else 1.0
        self._last, self.jobs = max(self._last, at), self.jobs + 1
        for each in self._imagined:
            each.arrived(at, work_s, fade)
        if self.ours.up:
            even = window_for(self.costs, self.ours.age_s, self.costs.restart_s)
            advance(self.ours, at, even if self._window_s is None else self._window_s)
        self.ours.work(at, work_s)
        self._window_s = None

    def scores(self, now: float) -> dict[float, float]:
        """By budget, the node-seconds beside work that it cost at times of day such as `now`."""
        hour = hour_of(now)
        return {
            each.budget_s: sum(
                cost * ALIKE[abs(hour - other)] for other, cost in enumerate(each.by_hour)
            )
            for each in self._imagined
        }

    @property
    def even_s(self) -> float:
        """What break-even would have paid for all of it."""
        return self._imagined[BUDGETS.index(EVEN)].node.paid_s


def advance(node: Node, at: float, window_s: float) -> None:
    """Stop `node` when its window is over before `at`."""
    if node.up and at > node.free_at + window_s:
        node.stop(window_s)


def hour_of(moment: float) -> int:
    return int(moment % DAY_S // HOUR_S)
