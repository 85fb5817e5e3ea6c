"""Models of the catalogue: rows of models.json as `ModelSpec`s.

A row with `base` is a variant of another row: what it does not say is as there.
"""

from functools import cache
from typing import Any

from infra.catalogue.loading import read_rows
from infra.models.spec import Decoder, Encoder, Experts, ImageRule, ModelSpec

FILE = "models.json"


@cache
def catalogued_models() -> dict[str, ModelSpec]:
    """Every model of the catalogue by name, in the order of the file."""
    rows = {row["name"]: row for row in read_rows(FILE)}
    return {name: spec_of(_whole(row, rows)) for name, row in rows.items()}


def published_parameters() -> dict[str, int]:
    """What each model's publisher counts, where the row holds a count."""
    return {row["name"]: row["parameters"] for row in read_rows(FILE) if "parameters" in row}


def _whole(row: dict[str, Any], rows: dict[str, dict[str, Any]]) -> dict[str, Any]:
    if "base" not in row:
        return row
    base = rows[row["base"]]
    return {**base, **row, "decoder": {**base["decoder"], **row.get("decoder", {})}}


def spec_of(row: dict[str, Any]) -> ModelSpec:
    """The model of one whole row."""
    decoder = dict(row["decoder"])
    experts = decoder.pop("experts", None)
    return ModelSpec(
        name=row["name"],
        family=row["family"],
        decoder=Decoder(**decoder, experts=Experts(**experts) if experts else None),
        encoder=Encoder(**row["encoder"]),
        image=ImageRule(**row["image"]),
        licence=row["licence"],
        remote_code=row["remote_code"],
        boxes=row["boxes"],
        source=row["source"],
        dated=row["dated"],
        quantization=row.get("quantization", "none"),
        last_vllm=row.get("last_vllm"),
        note=row.get("note", ""),
    )
