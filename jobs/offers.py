"""The offers that the settings allow, and their snapshot for a job's record."""

from dataclasses import replace

from infra.catalogue.offers import Offer, catalogued_offers
from infra.offers import local_offer
from jobs.errors import UserError
from jobs.record import OfferSnapshot
from jobs.settings.groups import LocalOffer, OwnOffer
from jobs.settings.settings import Settings


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


def snapshot(offer: Offer, spot: bool = False, patient: bool = False) -> OfferSnapshot:
    """What a bill is made with; `UserError` when the price is unknown.

    spot      at the price of spot capacity
    patient   the job may wait, which some providers reward
    """
    price = offer.spot_usd_per_hour if spot else offer.usd_per_hour
    if price is None:
        name = "spot_usd_per_hour" if spot else "usd_per_hour"
        raise UserError(
            f"hardware.offer: {name} of {offer.name!r} is unknown, so no bill could be made; "
            "allowed: an offer with it, or set it under [[offers]] in zeroshift.toml"
        )
    return OfferSnapshot(
        name=offer.name,
        usd_per_hour=price,
        billing_granularity_s=offer.granularity_s,
        minimum_s=offer.minimum_s,
        catalogue_date=offer.dated,
        gpu=offer.gpu,
        provider=offer.provider,
        spot=spot,
        async_discount=offer.async_discount if patient else None,
        boot_billed=offer.boot_billed,
        head_usd_per_hour=offer.head_usd_per_hour,
    )
