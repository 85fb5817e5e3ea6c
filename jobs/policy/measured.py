"""A user's own cold start, from what earlier jobs measured; else what is assumed, and said so."""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from pydantic import ValidationError

from infra.catalogue.assumptions import assume
from infra.catalogue.billing import HOUR_S
from infra.offers import LOCAL_USD_PER_HOUR
from infra.planner.local import REST_S
from jobs.addresses import JobPaths, measured_root
from jobs.errors import ZeroshiftError
from jobs.history import Measurement, recall
from jobs.plurals import counted
from jobs.policy.costs import LOCAL_START_S, CostModel
from jobs.record import OfferSnapshot, RecordFile
from jobs.store.bucket import Found, Store


def costs_of(store: Store, bucket: str, model: str, offer: OfferSnapshot) -> CostModel:
    """What `model` costs on `offer`, with the start that its earlier jobs took there."""
    node = offer.gpu or offer.name
    known = recall(store, bucket, model).get(node)
    if known is None:
        return assumed_on(offer)
    basis = f"measured by {counted(known.jobs, 'job')} of {model} on {node}"
    return replace(assumed_on(offer), startup_s=known.startup_s, basis=basis, measured=True)


def assumed_on(offer: OfferSnapshot) -> CostModel:
    """The same before any job has measured it. The engine's load is part of the start."""
    rented_s = assume("boot_s", "expected") + assume("engine_s", "expected")
    return CostModel(
        Decimal(offer.usd_per_hour or LOCAL_USD_PER_HOUR),
        startup_s=LOCAL_START_S if offer.gpu is None else rented_s,
        model_load_s=0.0,
        teardown_s=REST_S.expected,
        granularity_s=offer.billing_granularity_s or HOUR_S,
        minimum_s=offer.minimum_s or 0,
        basis=f"assumed: nothing was measured on {offer.name}",
    )


def latest(store: Store, bucket: str, most: int) -> list[Measurement]:
    """What the latest jobs of any model measured, the newest first."""
    found = sorted(store.list(measured_root(bucket)), key=_modified, reverse=True)[:most]
    kept = []
    for each in found:
        with suppress(ValidationError, ZeroshiftError):
            kept.append(Measurement.model_validate_json(store.read(each.address)))
    return kept


def _modified(found: Found) -> datetime:
    return found.modified


def own_costs(store: Store, bucket: str) -> CostModel | None:
    """The costs of the model and offer of the latest job; None when no job has measured any."""
    for each in latest(store, bucket, 1):
        with suppress(ZeroshiftError):
            offer = RecordFile(store, JobPaths.of(bucket, each.job_id)).load().offer
            if offer is not None:
                return costs_of(store, bucket, each.model, offer)
    return None
