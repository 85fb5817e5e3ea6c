"""Judge a configuration that is given: does it start, and with how much room."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from infra.catalogue.gpus import Gpu
from infra.catalogue.offers import Offer
from infra.errors import PlanRefused
from infra.models.spec import ModelSpec, Quantization
from infra.planner.candidates import Fit, Judge, Wish
from infra.planner.engine import UTILIZATION, EngineSettings, settings_for, vllm_defaults
from infra.planner.memory import rank_memory
from infra.planner.quote import Candidate, Quote, by_money
from infra.planner.weights import check_parallel, quantization_notes
from infra.planner.workload import Workload, tokens_of


@dataclass(frozen=True, slots=True)
class Given:
    """A configuration as vLLM's own options name it; None: what vLLM takes by itself."""

    tensor_parallel: int = 1
    utilization: float = UTILIZATION
    max_model_len: int | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    videos: int = 0
    eager: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.utilization <= 1:
            raise PlanRefused(f"utilization: found {self.utilization}; allowed: above 0, up to 1")
        lengths = {
            "max-model-len": self.max_model_len,
            "max-num-seqs": self.max_num_seqs,
            "max-num-batched-tokens": self.max_num_batched_tokens,
        }
        for name, value in lengths.items():
            if value is not None and value < 1:
                raise PlanRefused(f"{name}: found {value}; allowed: 1 and more")
        if self.videos < 0:
            raise PlanRefused(f"video: found {self.videos}; allowed: 0 and more")


def judge(
    spec: ModelSpec,
    quantization: Quantization,
    work: Workload,
    gpu: Gpu,
    given: Given,
    offers: Sequence[Offer],
) -> Quote:
    """The memory of `spec` on `gpu` under `given`; time and money, at the cheapest of `offers`
    that has such a node, where it fits and the GPU's speed is known."""
    check_parallel(spec, given.tensor_parallel)
    tokens = tokens_of(spec, work)
    ours = settings_for(spec, quantization, work, tokens, given.tensor_parallel)
    engine = engine_of(spec, gpu, given, ours)
    judges = Judge(spec, quantization, work, tokens, Wish())
    fit = Fit(gpu, engine, rank_memory(spec, gpu, quantization, engine))
    choice = _cheapest(judges, fit, offers) or _unpriced(judges, fit)
    return Quote(spec, work, tokens, choice, warnings=_warnings(choice, quantization, spec))


def _cheapest(judges: Judge, fit: Fit, offers: Sequence[Offer]) -> Candidate | None:
    if not fit.memory.fits or not fit.gpu.timed:
        return None
    found = [
        judges.on_nodes(offer, fit, 1, None)
        for offer in offers
        if offer.gpu == fit.gpu.name and max(offer.gpus_per_node) >= fit.ranks
    ]
    return min(found, key=by_money, default=None)


def _unpriced(judges: Judge, fit: Fit) -> Candidate:
    timed = fit.memory.fits and fit.gpu.timed
    return Candidate(
        gpu=fit.gpu,
        offer=None,
        nodes=1,
        gpus=fit.ranks,
        replicas=1,
        batch=judges.batch(fit),
        quantization=judges.quantization,
        engine=fit.engine,
        memory=fit.memory,
        duration=judges.takes(fit, fit.ranks, None) if timed else None,
        cost=None,
        usd_per_hour=None,
    )


def engine_of(spec: ModelSpec, gpu: Gpu, given: Given, ours: EngineSettings) -> EngineSettings:
    """`given`, completed by vLLM's own defaults; the length by what the model takes."""
    batched, sequences = vllm_defaults(gpu)
    most = spec.decoder.max_position
    if given.max_model_len and most and given.max_model_len > most:
        raise PlanRefused(
            f"max-model-len: found {given.max_model_len}; allowed: up to {most}, what "
            f"{spec.name} takes"
        )
    length = given.max_model_len or most or ours.max_model_len
    batched = given.max_num_batched_tokens or min(
        batched, (given.max_num_seqs or sequences) * length
    )
    return replace(
        ours,
        utilization=given.utilization,
        max_model_len=length,
        max_num_seqs=given.max_num_seqs or min(sequences, batched),
        max_num_batched_tokens=batched,
        videos=given.videos,
        eager=given.eager,
    )


def _warnings(choice: Candidate, quantization: Quantization, spec: ModelSpec) -> tuple[str, ...]:
    told = [*quantization_notes(spec, quantization)]
    if choice.gpu.estimated:
        told.append(f"memory of {choice.gpu.name} as torch sees it is estimated")
    if choice.memory.fits and choice.memory.tight:
        told.append(choice.memory.reason)
    return tuple(told)
