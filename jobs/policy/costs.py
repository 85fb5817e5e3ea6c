"""What a cluster's life costs: seconds that no job asked for, and the provider's meter.

Rules weigh seconds against seconds, since one price stands on both sides; money comes in when a
replay is told.
"""

from dataclasses import dataclass
from decimal import Decimal

from infra.catalogue.assumptions import assume
from infra.catalogue.billing import HOUR_S, metered_s
from infra.offers import LOCAL_USD_PER_HOUR
from infra.planner.local import REST_S

LOCAL_START_S = 20.0  # about what a local start takes, until one was measured


@dataclass(frozen=True, slots=True)
class CostModel:
    """One node's price, cold start and end.

    startup_s, model_load_s   billed from launch until the engine answers
    teardown_s                billed from the decision to stop until the node is gone
    granularity_s, minimum_s  the provider's meter
    basis                     what the seconds rest on, in words; measured: or assumed
    """

    usd_per_hour: Decimal
    startup_s: float
    model_load_s: float
    teardown_s: float
    granularity_s: int = 1
    minimum_s: int = 0
    basis: str = ""
    measured: bool = False

    @property
    def start_s(self) -> float:
        return self.startup_s + self.model_load_s

    @property
    def restart_s(self) -> float:
        """What one more stop costs, before any meter: the end now, and the start later."""
        return self.start_s + self.teardown_s

    def billed_s(self, ran_s: float) -> float:
        """What the meter shows for a node that ran for `ran_s`; milliseconds decide."""
        return float(metered_s(Decimal(round(ran_s, 3)), self.granularity_s, self.minimum_s))

    def usd(self, billed_s: float) -> Decimal:
        return Decimal(round(billed_s, 3)) * self.usd_per_hour / HOUR_S


def assumed(usd_per_hour: Decimal = LOCAL_USD_PER_HOUR) -> CostModel:
    """A rented GPU node by the catalogue's assumptions, at the price of the local offer."""
    return CostModel(
        usd_per_hour,
        startup_s=assume("boot_s", "expected"),
        model_load_s=assume("engine_s", "expected"),
        teardown_s=REST_S.expected,
        basis="assumed: nothing was measured",
    )
