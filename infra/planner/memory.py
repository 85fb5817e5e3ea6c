"""Does it fit: one rank's memory, as vLLM shares it out.

budget = what torch sees x utilisation; KV cache = budget - weights - peak activation - what is
outside torch - CUDA graphs. It fits when the KV cache holds the longest question.
"""

from dataclasses import dataclass

from infra.catalogue.gpus import Gpu
from infra.errors import PlanRefused
from infra.models.spec import ModelSpec, Quantization
from infra.planner.activation import graphs_bytes, non_torch_bytes, peak
from infra.planner.engine import EngineSettings
from infra.planner.kv_cache import BLOCK, kv_bytes_per_token
from infra.planner.sizes import GIB, to_gib
from infra.planner.weights import weigh

HEADROOM = 0.25  # beyond the weights, for KV cache and peaks: the usual 20 to 30 %
HEADROOM_LONG = 0.30  # for questions with long text
LONG_TEXT = 8192


@dataclass(frozen=True, slots=True)
class Memory:
    """GiB on one rank. `needs_gib` is the GPU that this would take, `has_gib` the one there is.

    fits    the engine starts: its KV cache holds one question of the longest kind
    tight   it fits, and yet leaves less than the headroom beyond the weights
    """

    has_gib: float
    needs_gib: float
    budget_gib: float
    weights_gib: float
    activation_gib: float
    non_torch_gib: float
    graphs_gib: float
    kv_gib: float
    kv_tokens: int
    fits: bool
    tight: bool
    reason: str


def rank_memory(
    spec: ModelSpec,
    gpu: Gpu,
    quantization: Quantization,
    engine: EngineSettings,
    together: int = 1,
    long_text: bool = False,
) -> Memory:
    """The memory of one rank of `spec` on `gpu` with these settings; `PlanRefused` when the GPU's
    memory is unknown.

    together   tokens that must be in the KV cache at a time
    """
    if gpu.memory_gib is None:
        raise PlanRefused(f"memory of {gpu.name} is unknown; allowed: a GPU whose memory is known")
    ranks, batched = engine.tensor_parallel, engine.max_num_batched_tokens
    weights = weigh(spec, quantization, ranks, batched).rank
    parts = {
        "weights": weights,
        "activation": peak(spec, gpu, engine).total,
        "non_torch": non_torch_bytes(gpu, ranks),
        "graphs": graphs_bytes(engine),
    }
    budget = int(gpu.memory_gib * GIB * engine.utilization)
    left = budget - sum(parts.values())
    room = Room(
        weights=weights,
        budget=budget,
        left=left,
        wanted=max(engine.max_model_len, together),
        token=kv_bytes_per_token(spec.decoder, ranks),
        loading=_loading(spec, quantization, ranks, batched),
        roomy=int(weights * (1 + (HEADROOM_LONG if long_text else HEADROOM))),
    )
    needs = max(room.loading, budget - left + room.wanted * room.token) / engine.utilization
    return Memory(
        has_gib=gpu.memory_gib,
        needs_gib=to_gib(needs),
        budget_gib=to_gib(budget),
        **{f"{name}_gib": to_gib(size) for name, size in parts.items()},
        kv_gib=to_gib(left),
        kv_tokens=room.kv_tokens,
        fits=room.fits,
        tight=room.roomy > budget,
        reason=_reason(room, to_gib(needs), gpu.memory_gib),
    )


@dataclass(frozen=True, slots=True)
class Room:
    """Bytes on one rank, and what is asked of them.

    wanted    tokens that the KV cache must hold; token: bytes of one
    loading   peak while weights are loaded; roomy: weights with headroom
    """

    weights: int
    budget: int
    left: int
    wanted: int
    token: int
    loading: int
    roomy: int

    @property
    def kv_tokens(self) -> int:
        return max(0, self.left // (self.token * BLOCK)) * BLOCK

    @property
    def fits(self) -> bool:
        return self.kv_tokens >= self.wanted and self.loading <= self.budget


def _loading(spec: ModelSpec, quantization: Quantization, ranks: int, batched: int) -> int:
    """What is on the GPU while weights are loaded. A 16-bit checkpoint that is shrunk as it loads
    is there in both forms: two logs tell of starts that ended so."""
    weights = weigh(spec, quantization, ranks, batched).rank
    if quantization == spec.quantization or spec.quantization != "none":
        return weights
    return weights + weigh(spec, "none", ranks, batched).rank


def _reason(room: Room, needs: float, has: float) -> str:
    if not room.fits:
        text = f"does not fit: needs {needs:.1f} GiB, has {has:.1f}"
        if room.loading > room.budget >= room.weights:
            return f"{text}; the 16-bit weights are loaded before they are shrunk"
        return f"{text}; {room.kv_tokens:,} tokens would fit" if room.kv_tokens else text
    if room.roomy > room.budget:
        return (
            f"too tight: weights with headroom take {to_gib(room.roomy):.1f} GiB, vLLM may use "
            f"{to_gib(room.budget):.1f}"
        )
    return f"fits: {room.kv_tokens:,} tokens of KV cache"
