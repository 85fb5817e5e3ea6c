"""Groups of settings: `[inbox]` and `[local]` of `zeroshift.toml`.

Each description says the unit, why the default is what it is, and when to change it; the template
that `zeroshift init` writes is made of them.
"""

from decimal import Decimal
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from jobs.manifest import overlap
from jobs.manifest_task import PresetName


def example(value: str | int) -> Any:
    """What the template shows for a setting that has no default."""
    return {"example": value}


class Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Inbox(Group):
    """Pictures that start a job by arriving: each closed batch under the prefix is one job."""

    prefix: str | None = Field(
        default=None,
        pattern=r"^[^/].*/$",
        description="Prefix in the bucket that is watched, with its last slash. Not set: nothing "
        "is watched, because pictures that arrive must not cost money unasked.",
        json_schema_extra=example("inbox/"),
    )
    model: str | None = Field(
        default=None,
        min_length=1,
        description="Model that judges what arrives. Required with a prefix: it decides the cost.",
        json_schema_extra=example("bundled"),
    )
    task: PresetName = Field(
        default="inspection", description="Preset that is asked about what arrives."
    )
    results_prefix: str = Field(
        default="results/",
        pattern=r"^[^/].*/$",
        description="Prefix in the bucket for results, one folder a batch. It must lie apart from "
        "the watched prefix, else results would start jobs.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.prefix is not None and self.model is None:
            raise ValueError("found prefix without model; allowed: both or neither")
        if self.prefix is not None and overlap(self.prefix, self.results_prefix):
            found = f"prefix {self.prefix!r} and results_prefix {self.results_prefix!r}"
            raise ValueError(f"found {found}, which overlap; allowed: prefixes apart")
        return self


class LocalOffer(Group):
    """This machine as an offer: nodes are local processes that the autoscaler adds and removes."""

    usd_per_hour: Decimal = Field(
        default=Decimal("3.60"),
        ge=0,
        description="USD for an hour of one node. The default is a made-up price, a tenth of a "
        "cent a second, so that a bill can be read; set what your machine costs you.",
    )
    cpus: int = Field(
        default=2,
        ge=1,
        description="CPUs of one node. Two hold one engine replica of the bundled model.",
    )
    max_nodes: int = Field(
        default=1,
        ge=1,
        le=64,
        description="Nodes at a time. One, because nodes of one machine share its memory and CPUs; "
        "raise it where there are CPUs for all to spare.",
    )
