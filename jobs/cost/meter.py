"""One node's meter: what it shows at a moment, in milliseconds and in quanta of a USD.

Everything that is billed is a difference of two readings, so that whatever follows each other sums
to the whole exactly: in seconds, and in money, which is rounded at each reading and never between.
"""

from dataclasses import dataclass
from decimal import Decimal

from infra.catalogue.billing import HOUR_S, metered_ms, starts_at
from jobs.cost.entry import NodeTimes
from jobs.cost.shares import QUANTA
from jobs.record import OfferSnapshot


def to_ms(moment: float) -> int:
    """Milliseconds since the epoch."""
    return round(moment * 1000)


def in_seconds(ms: int) -> Decimal:
    return Decimal(ms) / 1000


@dataclass(frozen=True, slots=True)
class Meter:
    """The meter of a node, or of a head, whose price is another."""

    node: NodeTimes
    offer: OfferSnapshot
    is_head: bool = False

    def ms(self, moment: int) -> int:
        """Billed milliseconds that it shows; it stands still when the node is gone."""
        offer, node = self.offer, self.node
        start = starts_at(node.launched_at, node.joined_at, offer.boot_billed)
        if start is None:
            return 0
        end = moment if node.gone_at is None else min(moment, to_ms(node.gone_at))
        return metered_ms(end - to_ms(start), offer.billing_granularity_s, offer.minimum_s)

    def quanta(self, moment: int) -> int | None:
        """The money that it shows; None: the price is unknown."""
        rate = self.offer.head_usd_per_hour if self.is_head else self.offer.rate
        if rate is None:
            return None
        above, below = rate.as_integer_ratio()
        return _rounded(self.ms(moment) * above * QUANTA, below * HOUR_S * 1000)


def _rounded(above: int, below: int) -> int:
    """Half to even."""
    whole, rest = divmod(above, below)
    return whole + (2 * rest > below or (2 * rest == below and whole % 2 == 1))
