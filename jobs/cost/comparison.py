"""What the same work would cost otherwise: billed by the hour, kept on, or paid by the token.

Each is the ledger's own time or tokens at another tariff, so what is unknown there stays unknown.
"""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from infra.catalogue.billing import HOUR_S, metered_s
from infra.catalogue.endpoints import Endpoint, endpoints
from infra.planner.money import token_price
from jobs.cost.entry import Entry
from jobs.cost.shares import QUANTUM

ZERO = Decimal(0)
NODES = ("node", "head")


def hourly_usd(entry: Entry) -> Decimal | None:
    """The entry's node time by the begun hour; None: the price is unknown.

    An hourly meter read at both ends of the tenancy, as the real one is: so tenancies of a node
    sum to the whole hours of the node, and no hour is counted for two jobs. What is no node's time
    costs what it costs.
    """
    if entry.node is None:
        return entry.amount
    rate = rate_of(entry)
    if rate is None:
        return None
    born = entry.node.launched_at
    ended = entry.until if entry.node.gone_at is None else min(entry.until, entry.node.gone_at)
    begun, left = (_hours_s(max(0.0, moment - born)) for moment in (entry.since, ended))
    return (max(ZERO, left - begun) * rate / HOUR_S).quantize(QUANTUM)


def _hours_s(seconds: float) -> Decimal:
    return metered_s(Decimal(repr(round(seconds, 3))), HOUR_S, 0)


def rate_of(entry: Entry) -> Decimal | None:
    """USD for an hour of the entry's node or head."""
    return entry.offer.head_usd_per_hour if entry.kind == "head" else entry.offer.rate


@dataclass(slots=True)
class AlwaysOn:
    """The nodes that were there at the same time at most, of each price, kept on.

    Keeps two moments for each tenancy and nothing else of it.
    """

    _began: dict[Decimal | None, "array[float]"] = field(default_factory=dict)
    _ended: dict[Decimal | None, "array[float]"] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        if entry.kind in NODES:
            rate = rate_of(entry)
            self._began.setdefault(rate, array("d")).append(entry.since)
            self._ended.setdefault(rate, array("d")).append(entry.until)

    def usd(self, seconds: float) -> Decimal | None:
        """USD for so many seconds; None when the price of one of them is unknown."""
        total = ZERO
        for rate in self._began:
            if rate is None:
                return None
            total += rate * self._most(rate) * Decimal(repr(round(seconds, 3))) / HOUR_S
        return total

    @property
    def nodes(self) -> int:
        return sum(self._most(rate) for rate in self._began)

    def _most(self, rate: Decimal | None) -> int:
        """How many of that price were there at the same moment, at most."""
        began, ended = sorted(self._began[rate]), sorted(self._ended[rate])
        most = gone = 0
        for number, moment in enumerate(began, start=1):
            while ended[gone] <= moment and gone < number - 1:
                gone += 1
            most = max(most, number - gone)
        return most


@dataclass(frozen=True, slots=True)
class AtEndpoint:
    """The work at an endpoint that is paid by the token; None: its price is unknown."""

    name: str
    usd: Decimal | None


def at_endpoints(model: str, prompt_tokens: int, output_tokens: int) -> list[AtEndpoint]:
    """The same tokens at each endpoint that runs `model`; as our model counts them, since most do
    not say how they count a picture. Empty: none is known."""
    found = [each for each in endpoints().values() if each.model == model]
    return [AtEndpoint(each.name, _at(each, prompt_tokens, output_tokens)) for each in found]


def _at(endpoint: Endpoint, prompt_tokens: int, output_tokens: int) -> Decimal | None:
    return token_price(endpoint, 1, prompt_tokens, output_tokens)


def cheapest(found: Iterable[AtEndpoint]) -> AtEndpoint | None:
    """The cheapest one with a price, else one without, else None."""
    ordered = sorted(found, key=lambda each: (each.usd is None, each.usd or ZERO))
    return ordered[0] if ordered else None
