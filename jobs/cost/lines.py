"""What is no node's time: requests to the store, what is kept there, what leaves it, tokens.

Counted always, priced where the settings or the offer know a price. A price that nobody told makes
its own amount unknown, and no other.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from jobs.cost.entry import Entry, Kind
from jobs.cost.shares import QUANTUM
from jobs.settings.groups import Prices

GB = Decimal(10**9)
MILLION = Decimal(10**6)


@dataclass(frozen=True, slots=True)
class Line:
    """So much of something, at a price for one unit; None: unknown."""

    kind: Kind
    quantity: Decimal
    unit: str
    price: Decimal | None

    @property
    def usd(self) -> dict[str, Decimal] | None:
        if self.price is None:
            return None
        return {self.kind: (self.quantity * self.price).quantize(QUANTUM)}


def store_lines(counted: Mapping[str, int], prices: Prices) -> Iterator[Line]:
    """Of requests and bytes, as `jobs.store.client.Requests` and markers count them.

    What was written is taken to be kept for a month, and what was read to leave the store's
    network: whoever knows better sets the price to 0.
    """
    reads, writes = (Decimal(counted.get(name, 0)) for name in ("reads", "writes"))
    sent, received = (counted.get(name, 0) / GB for name in ("sent", "received"))
    yield Line("requests", reads, "reads", _each(prices.usd_per_1000_reads))
    yield Line("requests", writes, "writes", _each(prices.usd_per_1000_writes))
    yield Line("storage", sent, "GB-months", prices.usd_per_gb_month)
    yield Line("egress", received, "GB", prices.egress_usd_per_gb)


def token_lines(
    prompt: int, output: int, input_usd: Decimal | None, output_usd: Decimal | None
) -> Iterator[Line]:
    """Of an endpoint that is paid by the token; prices are for a million."""
    yield Line("tokens", Decimal(prompt), "prompt tokens", _of_million(input_usd))
    yield Line("tokens", Decimal(output), "output tokens", _of_million(output_usd))


def _each(usd_per_1000: Decimal | None) -> Decimal | None:
    return None if usd_per_1000 is None else usd_per_1000 / 1000


def _of_million(usd: Decimal | None) -> Decimal | None:
    return None if usd is None else usd / MILLION


def line_entries(lines: Iterable[Line], like: Entry) -> Iterator[Entry]:
    """An entry for each line of which there is some, of the same tenancy as `like`."""
    for line in lines:
        if line.quantity:
            changes = {
                "kind": line.kind,
                "node": None,
                "quantity": line.quantity,
                "unit": line.unit,
                "price": line.price,
                "usd": line.usd,
            }
            yield like.model_copy(update=changes)


def not_priced(entries: Iterable[Entry]) -> tuple[str, ...]:
    """What is not in the total because nobody told its price, in words, with how much it is."""
    sums: dict[tuple[str, str], Decimal] = {}
    for entry in entries:
        if entry.usd is None and entry.kind != "node":
            quantity = entry.seconds if entry.quantity is None else entry.quantity
            key = (entry.kind, entry.unit or "s")
            sums[key] = sums.get(key, Decimal(0)) + quantity
    return tuple(f"{_WORDS[kind]} ({_told(n)} {unit})" for (kind, unit), n in sums.items())


_WORDS = {
    "head": "head node",
    "requests": "storage requests",
    "storage": "storage",
    "egress": "egress",
    "tokens": "endpoint",
}


def _told(quantity: Decimal) -> str:
    """With thousands, and no more places than say something."""
    return f"{quantity:,.6f}".rstrip("0").rstrip(".")
