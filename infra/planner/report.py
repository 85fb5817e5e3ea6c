"""A quote as JSON: the same keys whether a configuration was chosen or given."""

from dataclasses import asdict
from decimal import Decimal
from statistics import fmean
from typing import Any

from infra.catalogue.endpoints import Endpoint as Priced
from infra.models.spec import ModelSpec
from infra.planner.duration import Duration
from infra.planner.explain import explain
from infra.planner.image_tokens import count_image_tokens, reductions, usable
from infra.planner.kv_cache import explosion, heads_replicate
from infra.planner.local import LocalQuote
from infra.planner.money import Cost, Range, per_thousand, token_price
from infra.planner.quote import Candidate, Quote
from infra.planner.workload import Tokens, Workload

MEMORY = (
    "budget_gib",
    "weights_gib",
    "activation_gib",
    "non_torch_gib",
    "graphs_gib",
    "kv_gib",
    "needs_gib",
    "has_gib",
)


def to_json(quote: Quote, explained: bool = False) -> dict[str, Any]:
    """Plain data; money is a decimal string, None is unknown."""
    choice = quote.choice
    shown: dict[str, Any] = {
        "model": quote.spec.name,
        "images": quote.work.images,
        "choice": None if choice is None else _choice(choice),
        "memory": None if choice is None else _memory(choice),
        "image_tokens": _image_tokens(quote.spec, quote.work, quote.tokens),
        "kv_explosion": [] if choice is None else _explosion(quote, choice),
        "engine": None if choice is None else choice.engine.to_vllm(),
        "time_s": None if choice is None else _time(choice.duration),
        "cost": None if choice is None else _cost(choice.cost),
        "runners_up": [_short(each) for each in quote.runners_up],
        "rejected": [asdict(each) for each in quote.rejected],
        "endpoints": [{**asdict(each), "usd": _money(each.usd)} for each in quote.endpoints],
        "warnings": [*quote.warnings, *_left_out(quote.tokens)],
    }
    if explained:
        shown["explain"] = [asdict(line) for line in explain(quote)]
    return shown


def local_to_json(quote: LocalQuote, spec: ModelSpec) -> dict[str, Any]:
    """A quote for this machine: no GPU, so no memory to share out."""
    plan, took, cost = quote.plan, quote.duration, quote.cost
    return {
        "model": spec.name,
        "images": quote.work.images,
        "choice": {
            "gpu": None,
            "count": 0,
            "tensor_parallel": 1,
            "replicas": plan.nodes,
            "nodes": plan.nodes,
            "offer": plan.offer.name,
            "regions": list(plan.offer.regions),
            "usd_per_node_hour": _money(plan.offer.usd_per_hour),
            "quantization": spec.quantization,
            "concurrency": plan.engine.get("max_num_seqs"),
        },
        "memory": None,
        "image_tokens": _image_tokens(spec, quote.work, quote.tokens),
        "kv_explosion": [],
        "engine": plan.engine,
        "time_s": _time(took),
        "cost": _cost(cost),
        "runners_up": [],
        "rejected": [],
        "endpoints": [],
        "warnings": [
            *([] if took else ["seconds and USD are unknown: no job of this model has run"]),
            *_left_out(quote.tokens),
        ],
    }


def endpoint_to_json(endpoint: Priced, work: Workload) -> dict[str, Any]:
    """A job at an endpoint that is paid by the token: no hardware is chosen."""
    counted = [endpoint.image_tokens(*size) for size in work.sizes]
    known = [count for count in counted if count is not None]
    mean = fmean(known) if known else None
    prompt = None if mean is None else work.prompt_tokens + work.pictures * mean
    usd = None if prompt is None else token_price(endpoint, work.images, prompt, work.output_tokens)
    told = [] if usd is not None else [f"what {endpoint.name} costs is unknown"]
    return {
        "model": endpoint.name,
        "images": work.images,
        "choice": {"gpu": None, "count": 0, "tensor_parallel": None, "offer": endpoint.name},
        "memory": None,
        "image_tokens": {
            "patches": None,
            "tokens": None if mean is None else round(mean),
            "model_width": None,
            "model_height": None,
        },
        "kv_explosion": [],
        "engine": None,
        "time_s": None,
        "cost": {
            "usd": _money(usd),
            "usd_low": _money(usd),
            "usd_high": _money(usd),
            "usd_per_1000_images": _money(per_thousand(usd, work.images)),
            "billed_s": 0,
        },
        "runners_up": [],
        "rejected": [],
        "endpoints": [],
        "warnings": [*told, "how long an endpoint takes is unknown"],
    }


def _choice(choice: Candidate) -> dict[str, Any]:
    return {
        "gpu": choice.gpu.name,
        "count": choice.gpus,
        "tensor_parallel": choice.tensor_parallel,
        "replicas": choice.replicas,
        "nodes": choice.nodes,
        "offer": choice.offer.name if choice.offer else None,
        "regions": list(choice.offer.regions) if choice.offer else [],
        "usd_per_node_hour": _money(choice.usd_per_hour),
        "quantization": choice.quantization,
        "concurrency": choice.batch,
    }


def _memory(choice: Candidate) -> dict[str, Any]:
    memory = choice.memory
    return {
        **{name: round(getattr(memory, name), 3) for name in MEMORY},
        "kv_tokens": memory.kv_tokens,
        "fits": memory.fits,
        "tight": memory.tight,
        "reason": memory.reason,
    }


def _image_tokens(spec: ModelSpec, work: Workload, tokens: Tokens) -> dict[str, Any]:
    """Of the first picture that the model takes, and the distribution over all."""
    size = usable(spec, work.sizes)[0]
    first = count_image_tokens(spec, *size, work.min_pixels, work.max_pixels)
    saved = reductions(spec, work.sizes, None, work.min_pixels, work.max_pixels)
    return {
        "patches": first.patches,
        "tokens": first.tokens,
        "model_width": first.model_width,
        "model_height": first.model_height,
        "in_prompt": first.in_prompt,
        "distribution": asdict(tokens.distribution),
        "largest": tokens.largest,
        "reductions": [asdict(each) for each in saved],
    }


def _left_out(tokens: Tokens) -> list[str]:
    """A note on pictures whose shape the model refuses: each will be an error row."""
    if not (count := tokens.distribution.too_long):
        return []
    return [
        f"{count} of {count + tokens.distribution.count} picture sizes are more than 200 times as "
        "long as wide: the model refuses them, and they are not counted"
    ]


def _explosion(quote: Quote, choice: Candidate) -> list[dict[str, Any]]:
    decoder, ranks = quote.spec.decoder, choice.tensor_parallel
    rows = explosion(decoder, ranks, quote.tokens.sequence, choice.memory.kv_tokens)
    copied = heads_replicate(decoder, ranks)
    return [{**asdict(row), "gib": round(row.gib, 3), "heads_replicated": copied} for row in rows]


def _time(took: Duration | None) -> dict[str, Any] | None:
    if took is None:
        return None
    parts = {name: _range(getattr(took, name)) for name in ("start", "work", "rest")}
    return {**_range(took.wall), **parts, "basis": took.basis}


def _range(seconds: Range) -> dict[str, float]:
    return {name: round(value, 1) for name, value in asdict(seconds).items()}


def _cost(cost: Cost | None) -> dict[str, Any] | None:
    if cost is None:
        return None
    amounts = {name: value for name, value in asdict(cost).items() if name != "billed_s"}
    return {**{name: _money(value) for name, value in amounts.items()}, "billed_s": cost.billed_s}


def _short(candidate: Candidate) -> dict[str, Any]:
    took, cost = _time(candidate.duration), _cost(candidate.cost)
    return {**_choice(candidate), "time_s": took, "cost": cost}


def _money(usd: Decimal | None) -> str | None:
    return None if usd is None else f"{usd:f}"
