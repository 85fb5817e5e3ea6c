"""The base of every part of a manifest."""

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    # Strict: "3" is not 3 in a request that costs money.
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        serialize_by_alias=True,
        defer_build=True,
    )
