"""What is raised and run: offer, model, nodes and the engine's settings.

The local offer is the one that can be raised so far, where one small model meets one machine.
"""

from dataclasses import dataclass, field
from typing import Any

from infra.catalogue.offers import Offer
from infra.errors import PlanRefused
from infra.models.find import find_spec
from infra.models.folder import Model, find_model
from infra.models.spec import ModelSpec
from infra.planner.engine import UNCACHED, processor_settings

MAX_CONTEXT = 4096  # KV cache is sized for it; an inspection takes a few hundred tokens
MAX_SEQUENCES = 32  # beyond it a CPU only waits longer for each


@dataclass(frozen=True, slots=True)
class Plan:
    """`engine` reaches vLLM as it is; `cpus` are of one node."""

    offer: Offer
    model: Model
    nodes: int
    cpus: int = 1
    engine: dict[str, Any] = field(default_factory=dict)


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
    settings = engine_settings(find_spec(model), found.context, min_pixels, max_pixels)
    return Plan(offer, found, replicas, offer.cpus or 1, settings)


def engine_settings(
    spec: ModelSpec, context: int, min_pixels: int | None, max_pixels: int | None
) -> dict[str, Any]:
    """vLLM's settings on a CPU. Videos are off: profiling would reserve memory for the largest."""
    return {
        "max_model_len": min(context, MAX_CONTEXT),
        "max_num_seqs": MAX_SEQUENCES,
        "enforce_eager": True,
        "limit_mm_per_prompt": {"image": 1, "video": 0},
        **UNCACHED,
        "mm_processor_kwargs": processor_settings(spec, min_pixels, max_pixels),
    }
