"""Offers: what can be rented, from whom, where, and what a node of it costs.

Rows of offers.json. Prices are those of one day, and a price that nobody has published is None.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from infra.catalogue.loading import read_rows

FILE = "offers.json"
MOST_NODES = 64  # at a time: a limit of ours, as a provider's quota is not known
IN_THE_EU = "eu-*"
MONEY = (
    *("usd_per_hour", "spot_usd_per_hour", "async_discount", "egress_usd_per_gb"),
    "head_usd_per_hour",
)
LISTS = ("gpus_per_node", "regions")


@dataclass(frozen=True, slots=True)
class Offer:
    """A kind of node. None is unknown.

    cpus            of one node
    max_nodes       at a time, by our own limit
    usd_per_hour    for one node of `gpus` GPUs; `dated` says when the price was known to be so
    granularity_s   a node is billed in steps of it, and at least `minimum_s`
    gpu, gpus       name in the catalogue of GPUs, and their number; None and 0: CPUs alone
    gpus_per_node   sizes of node that can be rented at the same price for each GPU
    regions         known by name; eu: whether it can be rented in the European Union
    async_discount  share off the price for work that may wait
    boot_billed     whether a node is billed from its launch, rather than from when it is up
    head_usd_per_hour   of the head that a cluster of it has, which carries no work
    """

    name: str
    provider: str
    cpus: int | None
    max_nodes: int
    usd_per_hour: Decimal | None
    granularity_s: int | None
    minimum_s: int | None
    dated: str
    instance: str = ""
    gpu: str | None = None
    gpus: int = 0
    gpus_per_node: tuple[int, ...] = ()
    regions: tuple[str, ...] = ()
    eu: bool | None = None
    spot_usd_per_hour: Decimal | None = None
    async_discount: Decimal | None = None
    egress_usd_per_gb: Decimal | None = None
    boot_billed: bool | None = None
    head_usd_per_hour: Decimal | None = None
    source: str = ""
    billing_source: str = ""
    note: str = ""

    @property
    def usd_per_gpu_hour(self) -> Decimal | None:
        """The price of one GPU for an hour; None when it is unknown or there is no GPU."""
        if self.usd_per_hour is None or not self.gpus:
            return None
        return self.usd_per_hour / self.gpus


@cache
def catalogued_offers() -> tuple[Offer, ...]:
    """Every offer of the catalogue, in the order of the file."""
    return tuple(_offer(row) for row in read_rows(FILE))


def _offer(row: Mapping[str, Any]) -> Offer:
    common = {"cpus": None, "max_nodes": MOST_NODES}
    money = {name: _decimal(row.get(name)) for name in MONEY}
    lists = {name: tuple(row[name]) for name in LISTS}
    return Offer(**{**common, **row, **money, **lists})


def _decimal(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def matches(
    offer: Offer, gpus: Collection[str] = (), region: str | None = None, spot: bool = False
) -> bool:
    """Whether `offer` is one of those asked for; what is unknown never passes a restriction.

    gpus     names in the catalogue; empty: any
    region   see `in_region`; None: anywhere
    spot     only what has a known spot price
    """
    if gpus and offer.gpu not in gpus:
        return False
    if spot and offer.spot_usd_per_hour is None:
        return False
    return region is None or in_region(offer, region)


def in_region(offer: Offer, region: str) -> bool:
    """Whether `offer` can be rented in a region of that name, in which * and ? are wildcards.

    "eu-*" means the European Union where we know which offers lie in it, whatever the provider
    calls its regions; so neither "eu-west-2" (London) nor "europe-central-1" is misread.
    """
    if region.casefold() == IN_THE_EU and offer.eu is not None:
        return offer.eu
    return any(fnmatchcase(name.casefold(), region.casefold()) for name in offer.regions)
