"""The offers that the settings allow, and their snapshot for a job's record."""

from infra.offers import Offer, local_offer
from jobs.record import OfferSnapshot
from jobs.settings import Settings


def offers(settings: Settings) -> tuple[Offer, ...]:
    local = settings.local
    return (local_offer(local.usd_per_hour, local.cpus, local.max_nodes),)


def snapshot(offer: Offer) -> OfferSnapshot:
    return OfferSnapshot(
        name=offer.name,
        usd_per_hour=offer.usd_per_hour,
        billing_granularity_s=offer.granularity_s,
        minimum_s=offer.minimum_s,
        catalogue_date=offer.dated,
    )
