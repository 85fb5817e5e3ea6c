"""Every figure of a quote with the formula that it comes from, and the numbers put in."""

from collections.abc import Iterator
from dataclasses import dataclass

from infra.catalogue.assumptions import assume
from infra.models.parameters import active_linears, count_parameters
from infra.planner.activation import SAMPLER_BYTES, peak, profiled
from infra.planner.duration import demand_of
from infra.planner.kv_cache import BLOCK, heads_replicate, kv_bytes_per_token, kv_heads_of_rank
from infra.planner.quote import Candidate, Quote
from infra.planner.roofline import Roofline, peak_tflops
from infra.planner.sizes import to_gib
from infra.planner.weights import weigh


@dataclass(frozen=True, slots=True)
class Line:
    """`figure` = `formula` = `value`, in words that a person can check."""

    figure: str
    formula: str
    value: str


def explain(quote: Quote) -> list[Line]:
    """The formulas of the model's tokens, and of the choice when there is one."""
    lines = list(_tokens(quote))
    if quote.choice is not None:
        for part in (_parameters, _memory, _peak, _kv, _time, _money):
            lines += part(quote, quote.choice)
    return lines


def _tokens(quote: Quote) -> Iterator[Line]:
    tokens, work = quote.tokens, quote.work
    pictures = tokens.distribution
    yield Line(
        "image tokens",
        f"rule {quote.spec.image.rule} over {pictures.count} picture sizes",
        f"mean {pictures.mean:.0f}, median {pictures.median}, p95 {pictures.p95}, "
        f"max {pictures.max}",
    )
    seen = f"{pictures.mean:.0f} image" if quote.spec.image.in_prompt else "no image"
    yield Line(
        "tokens of a question",
        f"{work.pictures} x ({seen} + {quote.spec.image.wrapper} around it) + "
        f"{work.prompt_tokens} text + {work.output_tokens:.0f} answer",
        f"{tokens.sequence:,}",
    )


def _parameters(quote: Quote, choice: Candidate) -> Iterator[Line]:
    counts = count_parameters(quote.spec)
    yield Line(
        "parameters",
        f"encoder {counts.encoder:,} + linears {counts.linears:,} + embeddings "
        f"{counts.embeddings:,} + rest {counts.rest:,}",
        f"{counts.total:,}",
    )


def _memory(quote: Quote, choice: Candidate) -> Iterator[Line]:
    memory, engine, ranks = choice.memory, choice.engine, choice.tensor_parallel
    weights = weigh(quote.spec, choice.quantization, ranks, engine.max_num_batched_tokens)
    yield Line(
        "budget", f"{memory.has_gib:.2f} GiB x {engine.utilization}", _gib(memory.budget_gib)
    )
    yield Line(
        "weights",
        f"({choice.quantization}) encoder {to_gib(weights.encoder):.2f} + linears "
        f"{to_gib(weights.linears):.2f} + embeddings {to_gib(weights.embeddings):.2f} + rest "
        f"{to_gib(weights.rest):.2f}, + 1/400, + buffers {to_gib(weights.buffers):.2f}",
        _gib(memory.weights_gib),
    )
    yield Line(
        "non-torch", f"measured for {ranks} ranks on {choice.gpu.name}", _gib(memory.non_torch_gib)
    )
    yield Line("CUDA graphs", "measured, 0 when eager", _gib(memory.graphs_gib))


def _peak(quote: Quote, choice: Candidate) -> Iterator[Line]:
    engine = choice.engine
    phases, shown = peak(quote.spec, choice.gpu, engine), profiled(quote.spec, engine)
    yield Line(
        "activation",
        f"max(encoder {to_gib(phases.encoder):.2f} for {shown.patches:,} patches, cache "
        f"{to_gib(phases.cache):.2f} + max(decoder {to_gib(phases.forward):.2f} for "
        f"{engine.max_num_batched_tokens:,} tokens, sampler {to_gib(phases.sampler):.2f} for "
        f"{engine.max_num_seqs} rows x {quote.spec.decoder.vocab:,} x {SAMPLER_BYTES} B)) + "
        f"fixed {to_gib(phases.fixed):.2f}",
        _gib(choice.memory.activation_gib),
    )


def _kv(quote: Quote, choice: Candidate) -> Iterator[Line]:
    decoder, ranks, memory = quote.spec.decoder, choice.tensor_parallel, choice.memory
    copied = (
        ", copied as there are more ranks than heads" if heads_replicate(decoder, ranks) else ""
    )
    each = kv_bytes_per_token(decoder, ranks)
    yield Line(
        "KV bytes of a token",
        f"2 x {decoder.layers} layers x {kv_heads_of_rank(decoder, ranks)} heads{copied} x "
        f"{decoder.head_dim} x 2 B",
        f"{each:,} B a rank",
    )
    yield Line(
        "KV cache",
        "budget - weights - activation - non-torch - graphs, in blocks of "
        f"{BLOCK} tokens of {each:,} B",
        f"{memory.kv_gib:.2f} GiB, {memory.kv_tokens:,} tokens",
    )


def _time(quote: Quote, choice: Candidate) -> Iterator[Line]:
    took = choice.duration
    if took is None:
        return
    yield Line(
        "start",
        "boot + weights / load rate + engine start: assumed unless measured",
        _span(took.start),
    )
    if took.basis.startswith("roofline"):
        yield from _roofline(quote, choice)
    yield Line(
        "work",
        f"{quote.work.images:,} images / {choice.replicas} replicas; {took.basis}",
        _span(took.work),
    )
    yield Line("rest", "idle window and teardown: assumed", _span(took.rest))


def _roofline(quote: Quote, choice: Candidate) -> Iterator[Line]:
    need = demand_of(quote.spec, quote.work, quote.tokens)
    line = Roofline(quote.spec, choice.gpu, choice.quantization, choice.tensor_parallel)
    flops = need.encoder_flops + need.prefill_flops
    yield Line(
        "arithmetic of a question",
        f"encoder {need.encoder_flops / 1e12:.2f} + prefill {need.prefill_flops / 1e12:.2f} TFLOP "
        f"(2 x {active_linears(quote.spec.decoder):,} a token), at {choice.tensor_parallel} x "
        f"{peak_tflops(choice.gpu, choice.quantization):g} TFLOP/s x "
        f"{assume('compute_efficiency', 'expected')} assumed",
        f"{flops / line.flops('expected'):.3f} s",
    )
    step = line.step_s(choice.batch, need.context, "expected")
    yield Line(
        "decoding of a question",
        f"{need.output_tokens:.0f} tokens x {step * 1000:.1f} ms a step / {choice.batch} together, "
        f"at {choice.gpu.bandwidth_gbs:g} GB/s x {assume('bandwidth_efficiency', 'expected')}",
        f"{need.output_tokens * step / choice.batch:.3f} s",
    )


def _money(quote: Quote, choice: Candidate) -> Iterator[Line]:
    if choice.cost is None or choice.offer is None:
        return
    price = "unknown" if choice.usd_per_hour is None else f"{choice.usd_per_hour:f}"
    unit = choice.offer.granularity_s or 3600
    yield Line(
        "cost",
        f"{choice.cost.billed_s:,} node-seconds (steps of {unit} s, at least "
        f"{choice.offer.minimum_s or 0} s) x {price} USD/h / 3600",
        "unknown" if choice.cost.usd is None else f"{choice.cost.usd:f} USD",
    )


def _gib(gib: float) -> str:
    return f"{gib:.2f} GiB"


def _span(seconds: object) -> str:
    low, expected, high = (getattr(seconds, name) for name in ("low", "expected", "high"))
    return f"{low:,.0f} to {high:,.0f} s, expected {expected:,.0f}"
