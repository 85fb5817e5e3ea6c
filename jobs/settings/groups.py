"""Groups of settings: `[inbox]`, `[local]` and `[[offers]]` of `zeroshift.toml`.

Each description says the unit, why the default is what it is, and when to change it; the template
that `zeroshift init` writes is made of them.
"""

from collections import Counter
from decimal import Decimal
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from infra.catalogue.dates import CONFIGURED
from infra.catalogue.gpus import find_gpu
from infra.catalogue.offers import MOST_NODES
from infra.errors import UnknownGpu
from infra.offers import LOCAL_CPUS, LOCAL_NODES, LOCAL_USD_PER_HOUR
from jobs.manifest.forms import Within
from jobs.manifest.manifest import overlap
from jobs.manifest.task import PresetName


def example(value: str | int | bool) -> Any:
    """What the template shows for a setting that has no default."""
    return {"example": value}


class Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Inbox(Group):
    """Pictures that start a job by arriving: each closed batch under the prefix is one job."""

    prefix: Within | None = Field(
        default=None,
        description="Prefix in the bucket that is watched, with its last slash. Not set: nothing "
        "is watched, because pictures that arrive must not cost money unasked.",
        json_schema_extra=example("inbox/"),
    )
    model: str | None = Field(
        default=None,
        min_length=1,
        description="Model that judges what arrives. Required with a prefix: it decides the cost.",
        json_schema_extra=example("zeroshift/parts-inspector"),
    )
    task: PresetName = Field(
        default="inspection", description="Preset that is asked about what arrives."
    )
    results_prefix: Within = Field(
        default="results/",
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


class Pictures(Group):
    """Bounds on each file before and while it is decoded. Above one, it is that row's error."""

    max_pixels: int = Field(
        default=200_000_000,
        ge=1,
        description="Pixels of one frame as it is stored. The default lets scans of a large page "
        "pass, and keeps a file of some kilobytes from asking for gigabytes.",
    )
    max_bytes: int = Field(
        default=256 * 1024 * 1024, ge=1, description="Bytes of a file. The whole file is fetched."
    )
    max_frames: int = Field(
        default=100, ge=1, description="Pages, animation frames or moments wanted of one file."
    )
    decode_s: float = Field(
        default=60.0,
        gt=0,
        description="Seconds that one frame may take to decode. Then its process is ended.",
    )
    background: tuple[int, int, int] = Field(
        default=(255, 255, 255),
        description="What lies under transparency: red, green and blue, each from 0 to 255.",
    )

    @model_validator(mode="after")
    def _colour(self) -> Self:
        if not all(0 <= level <= 255 for level in self.background):
            raise ValueError(f"found background {list(self.background)}; allowed: 0 to 255 each")
        return self


class LocalOffer(Group):
    """This machine as an offer: nodes are local processes that the autoscaler adds and removes."""

    usd_per_hour: Decimal = Field(
        default=LOCAL_USD_PER_HOUR,
        ge=0,
        description="USD for an hour of one node. The default is a made-up price, a tenth of a "
        "cent a second, so that a bill can be read; set what your machine costs you.",
    )
    cpus: int = Field(
        default=LOCAL_CPUS,
        ge=1,
        description="CPUs of one node. Two hold one engine replica of the bundled model.",
    )
    region: str | None = Field(
        default=None,
        min_length=1,
        description="Where this machine stands, as a region's name. Not set: unknown, so that no "
        "residency can be promised for a job that runs here.",
        json_schema_extra=example("eu-central-1"),
    )
    max_nodes: int = Field(
        default=LOCAL_NODES,
        ge=1,
        le=MOST_NODES,
        description="Nodes at a time. One, because nodes of one machine share its memory and CPUs; "
        "raise it where there are CPUs for all to spare.",
    )


def _price(what: str, usual: str) -> Any:
    said = f"USD for {what}. Not set: unknown."
    return Field(default=None, ge=0, le=10**6, description=said, json_schema_extra=example(usual))


class Prices(Group):
    """What the store costs. Not set is unknown: the bill says how much it was, and not what it
    cost; nothing is guessed, since prices differ by store, class and region. 0 says it is free."""

    usd_per_1000_reads: Decimal | None = _price("1,000 requests that read an object", "0.0004")
    usd_per_1000_writes: Decimal | None = _price("1,000 requests that write or list", "0.005")
    usd_per_gb_month: Decimal | None = _price("a GB that is kept for a month", "0.023")
    egress_usd_per_gb: Decimal | None = _price(
        "a GB that a job reads, when it leaves the store", "0.09"
    )


def _known_gpu(name: str) -> str:
    try:
        return find_gpu(name).name
    except UnknownGpu as error:
        raise ValueError(str(error)) from error


GpuName = Annotated[str, AfterValidator(_known_gpu)]
MONTH_S = 31 * 24 * 3600
Usd = Annotated[Decimal, Field(gt=0, le=10**6)]
Count = Annotated[int, Field(ge=1, le=10**6)]


class OwnOffer(Group):
    """An offer of your own, as a table `[[offers]]`: a price you have agreed, or one that changed.

    What is left out is unknown, which is said wherever it matters; a price of 0 is refused, as it
    would make every job look free. With the name of a catalogued offer it takes its place.
    """

    provider: str = Field(min_length=1, description="Who rents it out.")
    instance: str = Field(min_length=1, description="What the provider calls this kind of node.")
    name: str | None = Field(
        default=None,
        min_length=1,
        description="Name for `hardware.offer`. Not set: provider/instance, in small letters.",
        json_schema_extra=example("aws/p5.48xlarge"),
    )
    gpu: GpuName | None = Field(
        default=None,
        description="GPU by its name in the catalogue. Not set: a node without GPUs.",
        json_schema_extra=example("H100"),
    )
    gpus: Count | None = Field(
        default=None,
        description="GPUs of a node at this price. Not set: 1, or none without a gpu.",
        json_schema_extra=example(8),
    )
    gpus_per_node: tuple[Count, ...] = Field(
        default=(),
        description="Sizes of node that can be rented at the same price for each GPU. Not set: "
        "only the size that has the price.",
    )
    regions: tuple[str, ...] = Field(default=(), description="Regions by the provider's names.")
    eu: bool | None = Field(
        default=None,
        description="Whether it lies in the European Union. Not set: unknown, so no residency "
        "can be promised.",
        json_schema_extra=example(True),
    )
    usd_per_hour: Usd | None = Field(
        default=None,
        description="USD for an hour of one node. Not set: unknown.",
        json_schema_extra=example("31.92"),
    )
    spot_usd_per_hour: Usd | None = Field(default=None, description="The same, for spot capacity.")
    granularity_s: int | None = Field(
        default=None,
        ge=1,
        le=MONTH_S,
        description="Seconds of one billing step: 1, 60 or 3600 as a rule.",
    )
    minimum_s: int | None = Field(
        default=None,
        ge=0,
        le=MONTH_S,
        description="Seconds that are billed at least for each node.",
    )
    async_discount: Decimal | None = Field(
        default=None, ge=0, lt=1, description="Share off the price for work that may wait."
    )
    egress_usd_per_gb: Decimal | None = Field(
        default=None, ge=0, le=10**6, description="USD for a GB that leaves the provider's network."
    )
    boot_billed: bool | None = Field(
        default=None,
        description="Whether a node is billed while it boots. Not set: unknown, so it is counted "
        "from its launch, which is never lower than the bill.",
        json_schema_extra=example(False),
    )
    head_usd_per_hour: Decimal | None = Field(
        default=None,
        ge=0,
        le=10**6,
        description="USD for an hour of the cluster's head. Not set: unknown.",
    )
    cpus: Count | None = Field(default=None, description="CPUs of one node.")
    max_nodes: int = Field(
        default=MOST_NODES, ge=1, le=MOST_NODES, description="Nodes at a time: your quota."
    )
    dated: str = Field(
        default=CONFIGURED, min_length=1, description="Day of the price, such as 2026-11-30."
    )

    @property
    def known_as(self) -> str:
        return self.name or f"{self.provider}/{self.instance}".casefold()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.gpu is None and (self.gpus or self.gpus_per_node):
            raise ValueError("found gpus without gpu; allowed: both or neither")
        if self.known_as == "local":
            raise ValueError("found name 'local'; allowed: another, as [local] is this machine")
        return self


def _each_once(offers: tuple[OwnOffer, ...]) -> tuple[OwnOffer, ...]:
    twice = [name for name, count in Counter(o.known_as for o in offers).items() if count > 1]
    if twice:
        raise ValueError(f"found {twice[0]!r} twice; allowed: each name once")
    return offers


OwnOffers = Annotated[tuple[OwnOffer, ...], AfterValidator(_each_once)]
