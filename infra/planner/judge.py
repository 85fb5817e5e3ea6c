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
from infra.planner.workload import Tokens, Workload, check_count, longest_asked, tokens_of

LEAST_UTILIZATION = 0.01


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
        if not LEAST_UTILIZATION <= self.utilization <= 1:
            raise PlanRefused(
                f"utilization: found {self.utilization}; allowed: {LEAST_UTILIZATION} to 1"
            )
        lengths = {
            "max-model-len": self.max_model_len,
            "max-num-seqs": self.max_num_seqs,
            "max-num-batched-tokens": self.max_num_batched_tokens,
        }
        for name, value in lengths.items():
            check_count(name, value)
        check_count("video", self.videos, least=0)
        batched, sequences = self.max_num_batched_tokens, self.max_num_seqs
        if batched and sequences and batched < sequences:
            raise PlanRefused(
                f"max-num-batched-tokens: found {batched}; allowed: {sequences} (max-num-seqs) "
                "and more, or vLLM refuses to start"
            )


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
    together = (work.concurrency or 0) * tokens.sequence
    fit = Fit(gpu, engine, rank_memory(spec, gpu, quantization, engine, together))
    choice = _cheapest(judges, fit, offers) or _unpriced(judges, fit)
    return Quote(spec, work, tokens, choice, warnings=_warnings(spec, choice, work, tokens))


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


def _warnings(
    spec: ModelSpec, choice: Candidate, work: Workload, tokens: Tokens
) -> tuple[str, ...]:
    told = [*quantization_notes(spec, choice.quantization)]
    asked, length = longest_asked(spec, work, tokens), choice.engine.max_model_len
    if asked > length:
        told.append(
            f"the longest question takes {asked:,} tokens with its answer, max_model_len is "
            f"{length:,}: the engine refuses it"
        )
    if choice.gpu.estimated:
        told.append(f"memory of {choice.gpu.name} as torch sees it is estimated")
    if choice.memory.fits and choice.memory.tight:
        told.append(choice.memory.reason)
    return tuple(told)
