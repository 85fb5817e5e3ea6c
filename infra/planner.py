"""The plan of a job: offer, nodes and the engine's settings, before anything is paid for.

This is the planner of the local offer, where one small model meets one machine. Fitting a model
onto GPUs, its time and its price are to come; nothing of that is guessed here.
"""

from dataclasses import dataclass, field
from typing import Any

from infra.errors import PlanRefused
from infra.models import Model, find_model
from infra.offers import Offer

MAX_CONTEXT = 4096  # KV cache is sized for it; an inspection takes a few hundred tokens
MAX_SEQUENCES = 32  # beyond it a CPU only waits longer for each


@dataclass(frozen=True, slots=True)
class Plan:
    """`engine` reaches vLLM as it is; `seconds` is None while nothing is known of this model."""

    offer: Offer
    model: Model
    nodes: int
    engine: dict[str, Any] = field(default_factory=dict)
    seconds: float | None = None


def make_plan(
    model: str,
    offer: Offer,
    replicas: int,
    min_pixels: int | None = None,
    max_pixels: int | None = None,
) -> Plan:
    """Plan a job; `PlanRefused` with one line when it can't be run."""
    if replicas > offer.max_nodes:
        raise PlanRefused(
            f"hardware.replicas: {replicas} is more than offer {offer.name!r} has nodes; "
            f"allowed: 1 to {offer.max_nodes}"
        )
    found = find_model(model)
    return Plan(offer, found, replicas, engine_settings(found, min_pixels, max_pixels))


def engine_settings(model: Model, min_pixels: int | None, max_pixels: int | None) -> dict[str, Any]:
    """vLLM's settings. Videos are off: profiling would otherwise reserve memory for the largest."""
    context = min(model.context, MAX_CONTEXT)
    pixels = {"min_pixels": min_pixels, "max_pixels": max_pixels}
    processor = {name: value for name, value in pixels.items() if value is not None}
    return {
        "max_model_len": context,
        "max_num_seqs": MAX_SEQUENCES,
        "enforce_eager": True,
        "limit_mm_per_prompt": {"image": 1, "video": 0},
        # Every picture is asked once, so caches of pictures and prefixes only cost memory.
        "mm_processor_cache_gb": 0,
        "enable_prefix_caching": False,
        # The worker hands over pictures of exactly the model's size. A second resize would find
        # another one for long pictures, and boxes would be measured on a picture we never saw.
        "mm_processor_kwargs": {"do_resize": False, **processor},
    }
