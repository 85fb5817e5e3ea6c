"""A batch as a request: what its rule says, and what its own `manifest.json` may change.

A batch's manifest says what is asked. What it costs is the rule's: model, hardware and budget (a
smaller budget is fine), and where results go.
"""

import json
import re
from decimal import Decimal
from typing import Any

from jobs.addresses import Address
from jobs.errors import ManifestError
from jobs.events.memory import Batch
from jobs.manifest.manifest import Budget, Inputs, Manifest, parse_manifest
from jobs.settings.doors import Rule
from jobs.store.bucket import Store
from jobs.strict_json import load_strict

FREE = ("version", "name", "task", "sampling", "image", "labels", "on_error", "residency")
PARTLY = ("inputs", "output", "budget")
OF_INPUTS = ("group_by", "max_pictures")


def request(folder: Address, rule: Rule, batch: Batch, own: bytes | None = None) -> Manifest:
    """The manifest of a batch; `ManifestError` when its own, `own`, says what it may not."""
    base = Manifest(
        name=job_name(folder.name),
        inputs=Inputs(keys=tuple(str(folder / name) for name in sorted(batch.keys))),
        output=batch.output,
        model=rule.model,
        task=rule.task,
        labels=rule.labels,
        budget=Budget(max_usd=rule.max_usd, max_runtime_s=rule.max_runtime_s),
        idempotency_key=f"{folder}@{batch.id}",
    )
    return base if own is None else _changed(base, own, str(folder / "manifest.json"))


def _changed(base: Manifest, own: bytes, source: str) -> Manifest:
    document = load_strict(own, source)
    if not isinstance(document, dict):
        raise ManifestError(f"{source}: not an object; allowed: an object with {', '.join(FREE)}")
    odd = [key for key in document if key not in (*FREE, *PARTLY)]
    if odd:
        raise ManifestError(
            f"{source}: {odd[0]}: is the rule's to say; allowed: {', '.join((*FREE, *PARTLY))}"
        )
    whole = json.loads(base.model_dump_json(exclude_defaults=True))
    whole["inputs"] |= _part(document, "inputs", OF_INPUTS, source)
    output = _part(document, "output", None, source)
    if "prefix" in output:
        raise ManifestError(f"{source}: output.prefix: is the rule's to say; leave it out")
    whole["output"] = {"prefix": base.output, **output}
    whole["budget"] = _budget(whole.get("budget", {}), document, source)
    whole["labels"] = {**_part(document, "labels", None, source), **base.labels}
    rest = {key: document[key] for key in FREE if key in document and key != "labels"}
    return parse_manifest(json.dumps({**whole, **rest}), source)


def _part(
    document: dict[str, Any], name: str, allowed: tuple[str, ...] | None, source: str
) -> dict[str, Any]:
    part = document.get(name, {})
    if not isinstance(part, dict):
        raise ManifestError(f"{source}: {name}: found {json.dumps(part)[:60]}; allowed: an object")
    odd = [key for key in part if allowed is not None and key not in allowed]
    if odd:
        assert allowed is not None
        raise ManifestError(
            f"{source}: {name}.{odd[0]}: is the rule's to say; allowed: {', '.join(allowed)}"
        )
    return part


def _budget(most: dict[str, Any], document: dict[str, Any], source: str) -> dict[str, Any]:
    own = _part(document, "budget", ("max_usd", "max_runtime_s"), source)
    for name, value in own.items():
        bound = most.get(name)
        if bound is None:
            continue
        try:
            too_much = value is None or Decimal(str(value)) > Decimal(str(bound))
        except ArithmeticError:
            continue  # no number at all, which the manifest's own check says
        if too_much:
            raise ManifestError(
                f"{source}: budget.{name}: found {json.dumps(value)}; allowed: up to {bound}, "
                "the rule's"
            )
    return {**most, **own}


def output_for(store: Store, folder: Address, rule: Rule, identity: str, first: bool) -> str:
    """Where a batch's results go: the rule's place, or one beside it when that is taken."""
    place = f"s3://{folder.bucket}/{rule.output_of(folder.name)}"
    if first and not store.exists(Address.parse(place) / "_SUCCESS"):
        return place
    return f"{place.rstrip('/')}-{identity[:6]}/"


def job_name(folder: str) -> str:
    """A job's name from a folder's: what is not allowed in a name becomes a hyphen."""
    return re.sub(r"[^a-z0-9]+", "-", folder.lower()).strip("-")[:60].strip("-") or "batch"
