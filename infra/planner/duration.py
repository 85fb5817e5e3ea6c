"""How long a job takes on given nodes: start, work and rest, each as a range."""

from dataclasses import dataclass, replace

from infra.catalogue.assumptions import CASES, Case, assume
from infra.catalogue.gpus import Gpu
from infra.models.spec import ModelSpec, Quantization
from infra.planner.measured import Measured
from infra.planner.money import Range
from infra.planner.roofline import Demand, Roofline, demand
from infra.planner.weights import weigh
from infra.planner.workload import Tokens, Workload

GIGA = 1e9


@dataclass(frozen=True, slots=True)
class Duration:
    """Seconds. `start` until the engine answers, `work` for all pictures, `rest` until no node is
    left. `basis` says what the work rests on: the roofline, or so many earlier jobs."""

    start: Range
    work: Range
    rest: Range
    basis: str

    @property
    def wall(self) -> Range:
        """From the start of the nodes to the last answer."""
        return _add(self.start, self.work)

    @property
    def node(self) -> Range:
        """What each node runs, and is paid for."""
        return _add(self.wall, self.rest)

    def over(self, nodes: int) -> "Duration":
        """The same, with the work of one node shared out over so many like it."""
        work = Range(self.work.low / nodes, self.work.expected / nodes, self.work.high / nodes)
        return replace(self, work=work)


def _add(one: Range, other: Range) -> Range:
    return Range(one.low + other.low, one.expected + other.expected, one.high + other.high)


@dataclass(frozen=True, slots=True)
class Engines:
    """`replicas` engines of so many ranks each, that hold `batch` questions each at a time."""

    spec: ModelSpec
    gpu: Gpu
    quantization: Quantization
    tensor_parallel: int
    replicas: int
    batch: int


def duration(on: Engines, work: Workload, tokens: Tokens, known: Measured | None) -> Duration:
    """Seconds of `work` on the engines `on`; `known` replaces what would be assumed."""
    start = _range({case: _start_s(on, case) for case in CASES})
    rest = _range({case: assume("rest_s", case) for case in CASES})
    shares = work.images / on.replicas
    if known is not None:
        return measured_duration(known, tokens.sequence * shares, rest)
    need = demand_of(on.spec, work, tokens)
    line = Roofline(on.spec, on.gpu, on.quantization, on.tensor_parallel)
    seconds = {case: line.question_s(need, on.batch, case) * shares for case in CASES}
    return Duration(start, _range(seconds), rest, "roofline with assumed efficiencies")


def measured_duration(known: Measured, tokens: float, rest: Range) -> Duration:
    """Seconds of a replica for so many tokens, as earlier jobs took them."""
    start = Range(known.startup_s, known.startup_s, known.startup_s)
    rates = (known.fastest_s, known.median_s, known.slowest_s)
    work = Range(*(rate * tokens for rate in rates))
    jobs = "job" if known.jobs == 1 else "jobs"
    return Duration(start, work, rest, f"measured by {known.jobs} earlier {jobs}")


def demand_of(spec: ModelSpec, work: Workload, tokens: Tokens) -> Demand:
    pictures = tokens.distribution
    return demand(
        spec,
        patches=pictures.patches_mean * work.pictures,
        tiles=pictures.tiles_mean * work.pictures,
        prompt_tokens=tokens.sequence - work.output_tokens,
        output_tokens=work.output_tokens,
    )


def _start_s(on: Engines, case: Case) -> float:
    load = weigh(on.spec, on.quantization, 1, 0).total / (assume("load_gbs", case) * GIGA)
    return assume("boot_s", case) + load + assume("engine_s", case)


def _range(by_speed: dict[Case, float]) -> Range:
    """Seconds by speed: the fast case is the low end."""
    return Range(by_speed["high"], by_speed["expected"], by_speed["low"])
