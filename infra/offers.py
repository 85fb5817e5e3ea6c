"""The local offer, and offers by name.

The local offer is this machine. Its price is a setting, not a fact: it lets the bill of a local
run be read as if the machine were rented.
"""

from collections.abc import Iterable
from decimal import Decimal

from infra.catalogue.dates import CONFIGURED
from infra.catalogue.offers import Offer
from infra.errors import NoSuchOffer

__all__ = ["LOCAL_CPUS", "LOCAL_NODES", "LOCAL_USD_PER_HOUR", "Offer", "find_offer", "local_offer"]

# What the settings [local] default to.
LOCAL_USD_PER_HOUR, LOCAL_CPUS, LOCAL_NODES = Decimal("3.60"), 2, 1


def local_offer(
    usd_per_hour: Decimal = LOCAL_USD_PER_HOUR,
    cpus: int = LOCAL_CPUS,
    max_nodes: int = LOCAL_NODES,
) -> Offer:
    return Offer(
        name="local",
        provider="local",
        cpus=cpus,
        max_nodes=max_nodes,
        usd_per_hour=usd_per_hour,
        granularity_s=1,
        minimum_s=0,
        boot_billed=True,
        head_usd_per_hour=Decimal(0),  # this machine runs anyway
        dated=CONFIGURED,
    )


def find_offer(name: str, offers: Iterable[Offer]) -> Offer:
    """The offer of that name; `NoSuchOffer` names those there are."""
    known = {offer.name: offer for offer in offers}
    if name not in known:
        raise NoSuchOffer(f"hardware.offer: no offer {name!r}; allowed: {', '.join(known)}")
    return known[name]
