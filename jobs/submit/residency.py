"""Residency: every place that pictures or answers come to lie in, held against the manifest.

Asked when a job is submitted, and again by the controller that raises its cluster, since a local
node stands where the controller does. Unknown is a refusal, never a pass.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from infra.catalogue.offers import IN_THE_EU, Offer
from jobs.addresses import Address
from jobs.errors import ManifestError, PermanentError
from jobs.inputs.pin import addresses_of
from jobs.manifest.manifest import Manifest, default_output
from jobs.record import Checked
from jobs.store.bucket import Store
from jobs.submit.planning import on_hub

# London and Zurich: named like regions of the European Union, and not in it.
NAMED_EU_BUT_OUTSIDE = ("eu-west-2", "eu-central-2")


def residency_gate(
    store: Store, manifest: Manifest, offer: Offer | None, ledger_bucket: str
) -> list[Checked]:
    """What was found of each place; `ManifestError` at the first that is elsewhere or unknown.

    offer   None: nothing can do the job, so where it would run is unknown
    """
    wanted = manifest.residency.regions
    if not wanted:
        return []
    if on_hub(manifest.model):
        raise ManifestError(
            f"residency.regions: {manifest.model!r} comes from a hub, whose region is unknown; "
            "allowed: a model of your own bucket (s3://), or a folder"
        )
    found = [
        _found(f"bucket of {what} {bucket}", _region(store, bucket), wanted)
        for what, bucket in _buckets(store, manifest, ledger_bucket)
    ]
    if not manifest.model.startswith("s3://"):
        here = "files where the job runs"
        found.append(Checked(gate="residency", what=f"model {manifest.model}", found=here))
    return [*found, *_offer(offer, wanted)]


def _buckets(store: Store, manifest: Manifest, ledger: str) -> list[tuple[str, str]]:
    inputs = {manifest.inputs.bucket, *(each.bucket for each in _named(store, manifest))}
    buckets = [("the inputs", bucket) for bucket in sorted(inputs)]
    output = manifest.output or default_output(manifest)
    buckets.append(("the output", Address.parse(output).bucket))
    buckets.append(("state and ledger", ledger))
    if manifest.model.startswith("s3://"):
        buckets.append(("the model", Address.parse(manifest.model).bucket))
    return buckets


def _named(store: Store, manifest: Manifest) -> Sequence[Address]:
    """Inputs that are named one by one: they may lie in more buckets than one."""
    if manifest.inputs.prefix is not None:
        return ()
    return list(addresses_of(store, manifest.inputs))


def _region(store: Store, bucket: str) -> str | None:
    """A bucket that does not let us ask is in an unknown region."""
    try:
        return store.region(bucket)
    except PermanentError:
        return None


def _offer(offer: Offer | None, wanted: Sequence[str]) -> list[Checked]:
    """Each region in which the offer might place a node must be one of `wanted`."""
    if offer is None:
        raise ManifestError("residency.regions: no offer can do the job, so its region is unknown")
    if not offer.regions:
        more = "; set local.region in the settings" if offer.provider == "local" else ""
        raise ManifestError(
            f"residency.regions: the region of the offer {offer.name} is unknown{more}"
        )
    return [_found(f"offer {offer.name}", region, wanted) for region in offer.regions]


def _found(what: str, region: str | None, wanted: Sequence[str]) -> Checked:
    if region is None:
        raise ManifestError(f"residency.regions: the region of the {what} is unknown")
    if not any(lies_in(region, pattern) for pattern in wanted):
        raise ManifestError(
            f"residency.regions: the {what} is in {region}; allowed: {', '.join(wanted)}"
        )
    return Checked(gate="residency", what=what, found=region)


def lies_in(region: str, pattern: str) -> bool:
    """Whether a region is meant by a pattern; "eu-*" means the European Union, not the letters."""
    name, wanted = region.casefold(), pattern.casefold()
    if wanted == IN_THE_EU and name in NAMED_EU_BUT_OUTSIDE:
        return False
    return fnmatchcase(name, wanted)
