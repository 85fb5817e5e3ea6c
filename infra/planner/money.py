"""From node-seconds to money, by each provider's own meter."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

from infra.catalogue.billing import HOUR_S, metered_s
from infra.catalogue.endpoints import Endpoint
from infra.catalogue.offers import Offer

CENT_OF_A_CENT = Decimal("0.0001")
MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Range:
    """A figure with its ends; `expected` lies within them."""

    low: float
    expected: float
    high: float


@dataclass(frozen=True, slots=True)
class Cost:
    """USD for a whole job; every amount is None when the price is unknown.

    billed_s     node-seconds by the provider's meter, expected
    hourly_usd   the same where each node is billed by the begun hour
    always_on_usd_per_day   the same nodes, kept running
    """

    usd: Decimal | None
    usd_low: Decimal | None
    usd_high: Decimal | None
    usd_per_1000_images: Decimal | None
    billed_s: int
    hourly_usd: Decimal | None
    always_on_usd_per_day: Decimal | None


def hourly_price(offer: Offer, spot: bool, patient: bool) -> Decimal | None:
    """USD for an hour of one node; `patient`: the job may wait, which some providers reward."""
    price = offer.spot_usd_per_hour if spot else offer.usd_per_hour
    if price is None or not (patient and offer.async_discount):
        return price
    return price * (1 - offer.async_discount)


def cost_of(offer: Offer, nodes: int, node_s: Range, images: int, price: Decimal | None) -> Cost:
    """The cost of `nodes` nodes that each run for `node_s` seconds."""
    low, expected, high = (
        billed_s(offer, nodes, seconds) for seconds in (node_s.low, node_s.expected, node_s.high)
    )
    hours = Decimal(node_s.expected / HOUR_S).to_integral_value(ROUND_CEILING)
    usd = _usd(expected, price)
    return Cost(
        usd=usd,
        usd_low=_usd(low, price),
        usd_high=_usd(high, price),
        usd_per_1000_images=per_thousand(usd, images),
        billed_s=expected,
        hourly_usd=None if price is None else _rounded(price * hours * nodes),
        always_on_usd_per_day=None if price is None else _rounded(price * 24 * nodes),
    )


def billed_s(offer: Offer, nodes: int, seconds: float) -> int:
    """Node-seconds by the meter of `offer`, for `nodes` nodes that each run for `seconds`.

    An unknown billing unit counts as an hour: a quote must not be lower than the bill.
    """
    return int(metered_s(Decimal(seconds), offer.granularity_s, offer.minimum_s)) * nodes


def per_thousand(usd: Decimal | None, images: int) -> Decimal | None:
    return None if usd is None else _rounded(usd * 1000 / images)


def _usd(billed_s: int, price: Decimal | None) -> Decimal | None:
    return None if price is None else _rounded(price * billed_s / HOUR_S)


def token_price(
    endpoint: Endpoint, images: int, prompt_tokens: float, output_tokens: float
) -> Decimal | None:
    """USD for the job at an endpoint that is paid by the token, as a batch where it has one."""
    prices = (endpoint.input_usd_per_million, endpoint.output_usd_per_million)
    if prices[0] is None or prices[1] is None:
        return None
    each = prices[0] * Decimal(prompt_tokens) + prices[1] * Decimal(output_tokens)
    return _rounded(each * images / MILLION * (1 - (endpoint.batch_discount or Decimal(0))))


def _rounded(usd: Decimal) -> Decimal:
    return usd.quantize(CENT_OF_A_CENT, ROUND_CEILING)
