"""What the planner answers: the choice, the runners-up, and why the others were not taken."""

from dataclasses import dataclass
from decimal import Decimal

from infra.catalogue.gpus import Gpu
from infra.catalogue.offers import Offer
from infra.models.spec import ModelSpec, Quantization
from infra.planner.duration import Duration
from infra.planner.engine import EngineSettings
from infra.planner.memory import Memory
from infra.planner.money import Cost
from infra.planner.workload import Tokens, Workload

NO_PRICE = Decimal("Infinity")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to run the job: `nodes` nodes of an offer, cut into replicas of so many ranks.

    batch      questions that one replica holds at a time
    offer      None when a configuration is judged that nobody offers
    duration   None when the GPU's speed is unknown
    """

    gpu: Gpu
    offer: Offer | None
    nodes: int
    gpus: int
    replicas: int
    batch: int
    quantization: Quantization
    engine: EngineSettings
    memory: Memory
    duration: Duration | None
    cost: Cost | None
    usd_per_hour: Decimal | None

    @property
    def tensor_parallel(self) -> int:
        return self.engine.tensor_parallel


def by_money(candidate: Candidate) -> tuple[Decimal, float]:
    """For sorting: by money, an unknown price last; then by time."""
    assert candidate.cost is not None, "a candidate of an offer has a cost"
    assert candidate.duration is not None, "and a duration"
    usd = candidate.cost.usd
    return (NO_PRICE if usd is None else usd, candidate.duration.wall.expected)


@dataclass(frozen=True, slots=True)
class Rejected:
    offer: str
    gpu: str
    reason: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The same job at an endpoint that is paid by the token."""

    name: str
    usd: Decimal | None
    source: str


@dataclass(frozen=True, slots=True)
class Quote:
    """`choice` is None when nothing fits; `rejected` then says why, offer by offer."""

    spec: ModelSpec
    work: Workload
    tokens: Tokens
    choice: Candidate | None
    runners_up: tuple[Candidate, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
    warnings: tuple[str, ...] = ()
