"""GPUs of the catalogue: what they hold and how fast they are, as far as somebody has published it.

Rows of gpus.json. What is null there was not found, and stays unknown.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from infra.catalogue.loading import read_rows
from infra.catalogue.names import no_such, plain
from infra.errors import UnknownGpu

FILE = "gpus.json"
# torch sees less than the driver reports: 0.47 GiB on an H100, 0.59 on an L40S, 0.60 on an H200.
# An estimate takes the L40S's, as a quote must rather be too careful.
UNSEEN_GIB = 0.59
USABLE_SHARE = 0.92  # of nominal memory; cards with ECC on GDDR6 show as little


@dataclass(frozen=True, slots=True)
class Gpu:
    """One model of GPU; None is unknown.

    reported_mib    memory that the driver reports, in MiB (nvidia-smi)
    nominal_gib     memory that the vendor names it by, in GiB, where nothing better is known
    total_gib       memory that torch sees, in GiB
    bandwidth_gbs   of its memory, in GB/s
    bf16_tflops, fp8_tflops   dense peaks; fp8 is also None where the card can't
    nvlink          whether NVLink joins the cards of a node
    """

    name: str
    aliases: tuple[str, ...]
    reported_mib: int | None
    nominal_gib: int | None
    total_gib: float | None
    bandwidth_gbs: float | None
    bf16_tflops: float | None
    fp8_tflops: float | None
    compute_capability: str | None
    nvlink: bool | None
    sources: tuple[str, ...]
    dated: str
    note: str = ""

    @property
    def memory_gib(self) -> float | None:
        """What torch sees, in GiB: as published, else estimated from what the driver reports."""
        if self.total_gib is not None:
            return self.total_gib
        if self.reported_mib is not None:
            return self.reported_mib / 1024 - UNSEEN_GIB
        return None if self.nominal_gib is None else self.nominal_gib * USABLE_SHARE

    @property
    def estimated(self) -> bool:
        """Whether `memory_gib` is an estimate."""
        return self.total_gib is None and self.memory_gib is not None

    @property
    def timed(self) -> bool:
        """Whether enough is known to tell a time."""
        return self.bf16_tflops is not None and self.bandwidth_gbs is not None


@cache
def gpus() -> Mapping[str, Gpu]:
    """Every GPU of the catalogue by name, in the order of the file."""
    found = (
        Gpu(**{**row, "aliases": tuple(row["aliases"]), "sources": tuple(row["sources"])})
        for row in read_rows(FILE)
    )
    return MappingProxyType({gpu.name: gpu for gpu in found})


def find_gpu(name: str) -> Gpu:
    """The GPU of that name or alias; `UnknownGpu` with the nearest names when there is none."""
    gpu = _by_plain_name().get(plain(name))
    if gpu is None:
        raise UnknownGpu(no_such("GPU", name, gpus()))
    return gpu


@cache
def _by_plain_name() -> Mapping[str, Gpu]:
    return {plain(name): gpu for gpu in gpus().values() for name in (gpu.name, *gpu.aliases)}
