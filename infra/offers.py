"""Offers: where a job can run and what a second of it costs.

The local offer is this machine. Its price is a setting, not a fact: it lets the bill of a local
run be read as if the machine were rented.
"""

from dataclasses import dataclass
from decimal import Decimal

from infra.errors import NoSuchOffer


@dataclass(frozen=True, slots=True)
class Offer:
    """usd_per_hour is for one node; a node is billed in steps of `granularity_s`, at least
    `minimum_s`, and `dated` says when the price was known to be so."""

    name: str
    provider: str
    cpus: int
    max_nodes: int
    usd_per_hour: Decimal
    granularity_s: int
    minimum_s: int
    dated: str


def local_offer(usd_per_hour: Decimal, cpus: int, max_nodes: int) -> Offer:
    return Offer("local", "local", cpus, max_nodes, usd_per_hour, 1, 0, "set by configuration")


def find_offer(name: str, offers: tuple[Offer, ...]) -> Offer:
    """The offer of that name; `NoSuchOffer` names those there are."""
    for offer in offers:
        if offer.name == name:
            return offer
    known = ", ".join(offer.name for offer in offers)
    raise NoSuchOffer(f"hardware.offer: no offer {name!r}; allowed: {known}")
