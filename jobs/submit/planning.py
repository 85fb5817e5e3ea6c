"""Plan: what a manifest's job is raised and run with. Nothing is created or paid for.

The second step of a job's life; `jobs.submit.quoting` adds seconds and money to it.
"""

import os

from infra.catalogue.endpoints import find_endpoint
from infra.catalogue.offers import Offer
from infra.errors import InfraError
from infra.models.find import find_spec
from infra.models.folder import BUNDLED
from infra.models.spec import ModelSpec
from infra.offers import find_offer
from infra.planner.plan import Plan, make_plan
from jobs.errors import ManifestError
from jobs.manifest.manifest import Manifest
from jobs.offers import offers
from jobs.settings.settings import Settings
from jobs.store.bucket import Store
from jobs.store.checkpoint import reader_in

AUTO, LOCAL = "auto", "local"
FOR_RENTED = ("gpus", "regions", "spot", "deadline_s", "quantization")  # fields of hardware


def plan_for(manifest: Manifest, settings: Settings) -> Plan:
    """What a controller raises first; `ManifestError` says why there is nothing."""
    return plans_for(manifest, settings)[0]


def plans_for(manifest: Manifest, settings: Settings) -> list[Plan]:
    """What a controller can raise and run, in the order in which it is tried; never empty."""
    hardware, image = manifest.hardware, manifest.image
    try:
        if hardware.offers == (AUTO,):
            raise ManifestError(
                'hardware.offer: "auto" can be planned (--dry-run), but not raised yet; '
                "allowed: local"
            )
        named = _named(manifest, settings)
        _check_local(manifest)
        found = [offer for offer in named if offer.provider == LOCAL]
        if not found:
            names = ", ".join(repr(offer.name) for offer in named)
            raise ManifestError(
                f"hardware.offer: {names} can be planned (--dry-run), but not raised yet; "
                "allowed: local"
            )
        bounds = image.min_pixels, image.max_pixels
        return [make_plan(manifest.model, each, hardware.replicas, *bounds) for each in found]
    except InfraError as error:
        raise ManifestError(str(error)) from error


def where_it_may_run(manifest: Manifest, settings: Settings) -> list[Offer]:
    """Of the offers that are named those that can be raised; all, while that is none of them."""
    named = _named(manifest, settings)
    return [offer for offer in named if offer.provider == LOCAL] or named


def passed_over(manifest: Manifest, settings: Settings) -> tuple[str, ...]:
    """A warning for each offer of several that can't be raised yet."""
    if manifest.hardware.offers == (AUTO,):
        return ()
    return tuple(
        f"hardware.offer: {offer.name!r} can't be raised yet and is passed over"
        for offer in _named(manifest, settings)
        if offer.provider != LOCAL
    )


def _named(manifest: Manifest, settings: Settings) -> list[Offer]:
    known = offers(settings)
    try:
        return [find_offer(name, known) for name in manifest.hardware.offers]
    except InfraError as error:
        raise ManifestError(str(error)) from error


def spec_for(store: Store, manifest: Manifest) -> ModelSpec:
    """The model's dimensions and licence; `ManifestError` when nobody knows it."""
    if find_endpoint(manifest.model) is not None:
        raise ManifestError(
            f"model: {manifest.model} is an endpoint that is paid by the token: no job runs there; "
            "allowed: a model with weights, see zeroshift models; what it would cost says "
            "zeroshift plan"
        )
    try:
        return find_spec(
            manifest.model,
            lambda name: reader_in(store, name),
            hub=True,
            revision=manifest.revision or "main",
        )
    except InfraError as error:
        raise ManifestError(str(error)) from error


def on_hub(model: str) -> bool:
    """Whether the model's files come from a hub rather than from a bucket or this machine."""
    return not (model.startswith("s3://") or model in BUNDLED or _is_folder(model))


def _is_folder(name: str) -> bool:
    return os.path.isdir(os.path.expanduser(name))  # False, too, for what can't be a path


def _check_local(manifest: Manifest) -> None:
    """What is not kept must not be asked for in silence."""
    hardware = manifest.hardware
    given = [name for name in FOR_RENTED if getattr(hardware, name)]
    if hardware.offers == (LOCAL,) and given:
        raise ManifestError(
            f'hardware.{given[0]}: found with offer "local", where it means nothing; allowed: '
            'with offer "auto" or one of zeroshift offers'
        )
