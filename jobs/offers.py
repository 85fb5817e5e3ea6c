"""The offers that the settings allow, and their snapshot for a job's record."""

from dataclasses import replace

from infra.catalogue.offers import Offer, catalogued_offers
from infra.offers import local_offer
from jobs.errors import UserError
from jobs.record import OfferSnapshot
from jobs.settings import Settings
from jobs.settings_groups import LocalOffer, OwnOffer


def offers(settings: Settings) -> tuple[Offer, ...]:
    """This machine, the catalogue, and the user's own rows, which replace catalogued ones."""
    own = {offer.known_as: own_offer(offer) for offer in settings.offers}
    catalogued = [own.pop(offer.name, offer) for offer in catalogued_offers()]
    return (_this_machine(settings.local), *catalogued, *own.values())


def _this_machine(local: LocalOffer) -> Offer:
    regions = () if local.region is None else (local.region,)
    offer = local_offer(local.usd_per_hour, local.cpus, local.max_nodes)
    return replace(offer, regions=regions)


def own_offer(own: OwnOffer) -> Offer:
    """The offer of one table `[[offers]]`."""
    gpus = 0 if own.gpu is None else own.gpus or 1
    given = own.model_dump(exclude={"name", "gpus", "gpus_per_node"})
    return Offer(
        name=own.known_as,
        gpus=gpus,
        gpus_per_node=own.gpus_per_node or ((gpus,) if gpus else ()),
        source="settings",
        **given,
    )


def snapshot(offer: Offer) -> OfferSnapshot:
    """What a bill is made with; `UserError` when a part of the price is unknown."""
    price, step, least = offer.usd_per_hour, offer.granularity_s, offer.minimum_s
    if price is None or step is None or least is None:
        raise UserError(
            f"hardware.offer: {_unknown(offer)} of {offer.name!r} is unknown, so no bill could be "
            "made; allowed: an offer with it, or set it under [[offers]] in zeroshift.toml"
        )
    return OfferSnapshot(
        name=offer.name,
        usd_per_hour=price,
        billing_granularity_s=step,
        minimum_s=least,
        catalogue_date=offer.dated,
        gpu=offer.gpu,
    )


def _unknown(offer: Offer) -> str:
    names = ("usd_per_hour", "granularity_s", "minimum_s")
    return " and ".join(name for name in names if getattr(offer, name) is None)
