"""`zeroshift models` and `zeroshift offers`: what the catalogue holds. No store, no network.

Quick commands (see `jobs.cli.main`): they read their own arguments.
"""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from decimal import Decimal
from typing import Any

from infra.catalogue.dates import stale, told
from infra.catalogue.endpoints import Endpoint, endpoints
from infra.catalogue.gpus import find_gpu
from infra.catalogue.guide import advice_for, uses
from infra.catalogue.licences import find_licence
from infra.catalogue.models import catalogued_models
from infra.catalogue.names import no_such
from infra.catalogue.offers import Offer, matches
from infra.errors import UnknownGpu
from infra.models.parameters import count_parameters
from infra.models.spec import BITS_16, ModelSpec
from jobs.cli.columns import print_columns, shown, yes_or_no
from jobs.cli.lines import errors_as_lines, print_json
from jobs.cli.own_rows import known_offers
from jobs.cli.quick import parser_of
from jobs.cli.terminal import err, out
from jobs.errors import UserError

GIB, BILLION = 2**30, 10**9
FULL_HD = (1920, 1080)


def models(arguments: Sequence[str]) -> None:
    """Models of the catalogue, or which to take for a use."""
    parser = parser_of("models", models)
    parser.add_argument("--for", dest="use", metavar="USE", help=f"one of {', '.join(uses())}")
    asked = parser.parse_args(arguments)
    with errors_as_lines():
        if asked.use is not None:
            _advise(asked.use, asked.json)
        elif asked.json:
            rows = [_model(spec) for spec in catalogued_models().values()]
            print_json([*rows, *(_endpoint(each) for each in endpoints().values())])
        else:
            _print_models()


def offers(arguments: Sequence[str]) -> None:
    """Offers: what can be rented, where, and what it costs."""
    parser = parser_of("offers", offers)
    parser.add_argument("--gpu", metavar="NAMES", help="GPUs by name, with commas between them")
    parser.add_argument("--region", metavar="REGION", help="a region; eu-* is the European Union")
    asked = parser.parse_args(arguments)
    with errors_as_lines():
        gpus = _gpu_names(asked.gpu)
        found = [offer for offer in known_offers() if matches(offer, gpus, asked.region)]
        if asked.json:
            print_json([_offer(offer) for offer in found])
        elif found:
            _print_offers(found)
        if not found:
            err.print("no offer matches; an offer whose region is unknown matches no --region")


def _advise(use: str, as_json: bool) -> None:
    if use not in uses():
        raise UserError(f"--for: {no_such('use', use, uses())}")
    found = [(each, _model(catalogued_models()[each.model])) for each in advice_for(use)]
    if as_json:
        print_json([{**asdict(each), **facts} for each, facts in found])
        return
    for each, facts in found:
        figures = f"{facts['bf16_gib']:.1f} GiB in bf16, {_tokens(facts)} tokens for 1920x1080"
        licence = find_licence(facts["licence"])
        boxes = f"boxes {shown(facts['boxes']).replace('_', ' ')}"
        out.print(f"{each.model}: {each.why}", markup=False)
        out.print(f"    {figures}, {boxes}, {licence.name}", markup=False)
        out.print(f"    not measured: {each.not_measured}", markup=False)
    err.print("nothing here was measured on your pictures: try both on a sample")


def _model(spec: ModelSpec) -> dict[str, Any]:
    """One model as JSON has it; `image_tokens` are of a picture of 1920x1080."""
    from infra.planner.image_tokens import count_image_tokens

    total = count_parameters(spec).total
    image = count_image_tokens(spec, *FULL_HD)
    return {
        "name": spec.name,
        "kind": "weights",
        "parameters": total,
        "quantization": spec.quantization,
        "bf16_gib": round(total * BITS_16 / GIB, 2),
        "licence": spec.licence,
        "commercial": find_licence(spec.licence).commercial,
        "remote_code": spec.remote_code,
        "boxes": None if spec.boxes == "unknown" else spec.boxes,
        "image_tokens": image.tokens,
        "image_tokens_in_prompt": image.in_prompt,
        "last_vllm": spec.last_vllm,
        "source": spec.source,
        "dated": spec.dated,
        "note": spec.note,
    }


def _endpoint(endpoint: Endpoint) -> dict[str, Any]:
    aged = stale(endpoint.dated, date.today())
    tokens = endpoint.image_tokens(*FULL_HD)
    return {**asdict(endpoint), "kind": "endpoint", "image_tokens": tokens, "stale": aged}


def _tokens(facts: dict[str, Any]) -> str:
    return f"{facts['image_tokens']}{'' if facts['image_tokens_in_prompt'] else '*'}"


def _print_models() -> None:
    rows = [_model(spec) for spec in catalogued_models().values()]
    names = ("model", "B", "quantisation", "bf16 GiB", "1080p", "boxes", "remote code", "licence")
    print_columns(out, names, [_model_cells(row) for row in rows], right=(1, 3, 4))
    out.print("1080p: tokens of a 1920x1080 picture; *: attended to apart from the prompt")
    out.print()
    _print_endpoints()


def _model_cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        row["name"],
        f"{row['parameters'] / BILLION:.2f}",
        row["quantization"],
        f"{row['bf16_gib']:.1f}",
        _tokens(row),
        shown(row["boxes"]).replace("_", " "),
        yes_or_no(row["remote_code"]),
        row["licence"],
    )


def _print_endpoints() -> None:
    names = ("endpoint", "USD/M in", "USD/M out", "batch off", "1080p", "EU", "dated")
    cells = [_endpoint_cells(each) for each in endpoints().values()]
    print_columns(out, names, cells, right=(1, 2, 3, 4))


def _endpoint_cells(endpoint: Endpoint) -> tuple[str, ...]:
    return (
        endpoint.name,
        shown(endpoint.input_usd_per_million),
        shown(endpoint.output_usd_per_million),
        "unknown" if endpoint.batch_discount is None else f"{endpoint.batch_discount:.0%}",
        shown(endpoint.image_tokens(*FULL_HD)),
        yes_or_no(endpoint.eu),
        told(endpoint.dated, date.today()),
    )


def _gpu_names(listed: str | None) -> tuple[str, ...]:
    try:
        return tuple(find_gpu(name.strip()).name for name in listed.split(",")) if listed else ()
    except UnknownGpu as error:
        raise UserError(f"--gpu: {error}") from error


def _offer(offer: Offer) -> dict[str, Any]:
    aged = stale(offer.dated, date.today())
    return {**asdict(offer), "usd_per_gpu_hour": offer.usd_per_gpu_hour, "stale": aged}


def _print_offers(found: Sequence[Offer]) -> None:
    names = ("offer", "node", "USD/h", "USD/GPU-h", "spot USD/h", "billed", "EU", "dated", "region")
    print_columns(out, names, [_offer_cells(offer) for offer in found], right=(2, 3, 4))


def _offer_cells(offer: Offer) -> tuple[str, ...]:
    return (
        offer.name,
        _node(offer),
        _usd(offer.usd_per_hour),
        _usd(offer.usd_per_gpu_hour) if offer.gpus else "-",
        _usd(offer.spot_usd_per_hour),
        _billed(offer),
        yes_or_no(offer.eu),
        told(offer.dated, date.today()),
        ", ".join(offer.regions) or "unknown",
    )


def _node(offer: Offer) -> str:
    """The node that has the price, and the sizes that come at the same price for each GPU."""
    if offer.gpu is None:
        return f"{shown(offer.cpus)} CPUs"
    others = "/".join(str(size) for size in offer.gpus_per_node if size != offer.gpus)
    return f"{offer.gpus} x {offer.gpu}" + (f", or {others}" if others else "")


def _billed(offer: Offer) -> str:
    step = "unknown" if offer.granularity_s is None else f"by {offer.granularity_s} s"
    least = "unknown" if offer.minimum_s is None else f"{offer.minimum_s} s"
    return f"{step}, min {least}"


def _usd(amount: Decimal | None) -> str:
    return "unknown" if amount is None else f"{amount:.2f}"
