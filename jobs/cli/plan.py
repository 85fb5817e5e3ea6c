"""`zeroshift plan`: will it fit, on what, how long, for how much, before a GPU is paid for."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

from infra.catalogue.endpoints import find_endpoint
from infra.catalogue.gpus import find_gpu
from infra.catalogue.licences import find_licence
from infra.errors import InfraError
from infra.models.find import find_spec
from infra.models.sources import Reader
from infra.models.spec import ModelSpec
from infra.planner.ask import (
    Limits,
    Request,
    judged,
    quote,
    read_duration,
    read_quantization,
    read_size,
)
from infra.planner.engine import UTILIZATION
from infra.planner.judge import Given
from infra.planner.quote import Quote
from infra.planner.report import endpoint_to_json, to_json
from infra.planner.workload import Workload
from jobs.cli.lines import Exit, errors_as_lines, fail, print_json
from jobs.cli.own_rows import Known, known
from jobs.cli.quick import joined, parser_of
from jobs.cli.quote import print_endpoint, print_quote
from jobs.errors import UserError

IMAGE = "1280x960"


def plan(arguments: Sequence[str]) -> None:
    """Plan a job: GPU, count, memory, seconds and USD. Needs no GPU, no bucket and no network."""
    asked = _parser().parse_args(joined(arguments))
    with errors_as_lines():
        try:
            _plan(asked)
        except InfraError as error:
            raise UserError(str(error)) from error


def _plan(asked: Namespace) -> None:
    here, work = known(), _workload(asked)
    if endpoint := find_endpoint(asked.model):
        _refuse(asked, HARDWARE, f"{endpoint.name} is an endpoint, which has no hardware to choose")
        _refuse(asked, OURS, f"{endpoint.name} is an endpoint, which takes no such setting")
        shown = endpoint_to_json(endpoint, work)
        print_json(shown) if asked.json else print_endpoint(shown)
        return
    spec = find_spec(asked.model, _reader, hub=True)
    warnings = _licence(spec, here)
    request = Request(spec, work, read_quantization(asked.quantization))
    if asked.on is not None:
        _refuse(asked, CHOICE, "means nothing with --on, where nothing is chosen")
        answer = judged(request, _gpu(asked.on), _given(asked), here.offers)
    else:
        _refuse(asked, CONFIGURATION, "allowed: with --on GPU, to judge a configuration")
        answer = quote(request, _limits(asked), here.offers, date.today())
    _show(answer, warnings, asked)


def _show(answer: Quote, warnings: list[str], asked: Namespace) -> None:
    shown = to_json(answer, explained=asked.explain)
    shown["warnings"] += warnings
    if asked.json:
        print_json(shown)
    else:
        print_quote(shown)
    if answer.choice is None:
        fail("no offer can do this job; each says why", Exit.FAILED)


def _reader(name: str) -> Reader | None:
    """The reader of a model in a bucket: the one name for which a store is opened."""
    if not name.startswith("s3://"):
        return None
    from jobs.cli.store import open_store
    from jobs.store.checkpoint import reader_in

    return reader_in(open_store(check=False)[1], name)


def _licence(spec: ModelSpec, here: Known) -> list[str]:
    """What a job of this model would be asked; refused already when the settings exclude it."""
    licence = find_licence(spec.licence)
    where = here.jurisdiction
    if where is not None and licence.excludes(where):
        raise UserError(
            f"model: the licence of {spec.name} ({licence.name}) excludes {where}: {licence.terms}"
        )
    told = []
    if licence.excluded_jurisdictions:
        excluded = ", ".join(licence.excluded_jurisdictions).upper()
        told.append(f"licence {licence.name} excludes {excluded}: a job there is refused")
    if licence.needs_acknowledgement:
        told.append(
            f"licence {licence.name}: {licence.terms.rstrip('.')}; a manifest must acknowledge it"
        )
    if spec.remote_code:
        told.append("runs code of its own repository: a manifest must pin a revision")
    if spec.last_vllm is not None:
        told.append(f"ran on vLLM up to {spec.last_vllm} alone: can be planned, but not run")
    return told


def _workload(asked: Namespace) -> Workload:
    return Workload(
        images=asked.images,
        sizes=tuple(read_size(size) for size in asked.image or [IMAGE]),
        prompt_tokens=asked.prompt_tokens,
        max_output=asked.max_output_tokens,
        concurrency=asked.concurrency,
        pictures=asked.pictures,
        min_pixels=asked.min_pixels,
        max_pixels=asked.max_pixels,
    )


def _limits(asked: Namespace) -> Limits:
    deadline_s = None if asked.deadline is None else read_duration(asked.deadline)
    gpus, regions = _names("gpu", asked.gpu), _names("region", asked.region)
    return Limits(gpus, regions, deadline_s, asked.spot)


def _names(option: str, text: str | None) -> list[str]:
    """The names of a list; one without any would be no limit at all, which nobody asked for."""
    found = [name.strip() for name in (text or "").split(",") if name.strip()]
    if text is not None and not found:
        raise UserError(f"{option}: found {text!r}; allowed: one name or more, with commas between")
    return found


def _given(asked: Namespace) -> Given:
    return Given(
        1 if asked.tensor_parallel is None else asked.tensor_parallel,
        UTILIZATION if asked.utilization is None else asked.utilization,
        asked.max_model_len,
        asked.max_num_seqs,
        asked.max_num_batched_tokens,
        asked.video or 0,
        asked.eager,
    )


def _gpu(name: str) -> str:
    try:
        return find_gpu(name).name
    except InfraError as error:
        raise UserError(f"on: {error}") from error


def _refuse(asked: Namespace, options: Iterable[str], why: str) -> None:
    """What would be left out of account must not be asked for in silence."""
    for name in options:
        if getattr(asked, name.replace("-", "_")) not in (None, False):
            raise UserError(f"{name}: {why}")


def _parser() -> ArgumentParser:
    parser = parser_of("plan", plan)
    parser.add_argument("--explain", action="store_true", help="every figure with its formula")
    for group, options in OPTIONS.items():
        into = parser.add_argument_group(group)
        for name, settings in options.items():
            into.add_argument(f"--{name}", **settings)
    return parser


def _count(text: str, default: int | None = None) -> dict[str, Any]:
    return {"type": int, "metavar": "N", "help": text, "default": default}


OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "the job": {
        "model": {"required": True, "help": "of the catalogue, a folder, or of the hub"},
        "image": {
            "action": "append",
            "metavar": "WxH",
            "help": f"size of pictures in pixels, once or more ({IMAGE})",
        },
        "images": _count("pictures of the job (1000)", 1000),
        "pictures": _count("pictures of one question (1)", 1),
        "prompt-tokens": _count("text of one question (256)", 256),
        "max-output-tokens": _count("longest answer (512)", 512),
        "concurrency": _count("questions that must fit at once (as many as do)"),
        "min-pixels": _count("of a picture as the model sees it"),
        "max-pixels": _count("of a picture as the model sees it"),
        "quantization": {"metavar": "Q", "help": "none, fp8, awq or int8 (the checkpoint's)"},
    },
    "to choose hardware": {
        "gpu": {"metavar": "LIST", "help": "kinds of GPU, as H200,H100 (any)"},
        "region": {"metavar": "LIST", "help": "patterns of regions, as 'eu-*' (anywhere)"},
        "deadline": {"metavar": "TIME", "help": "until the last answer, as 90m or 2h"},
        "spot": {"action": "store_true", "help": "spot prices, where they are known"},
    },
    "to judge a configuration instead": {
        "on": {"metavar": "GPU", "help": "the kind of GPU; the rest is called as in vLLM"},
        "tensor-parallel": _count("GPUs of one engine (1)"),
        "utilization": {
            "type": float,
            "metavar": "SHARE",
            "help": f"of a GPU's memory ({UTILIZATION})",
        },
        "max-model-len": _count("(what the model takes)"),
        "max-num-seqs": _count("(vLLM's default for the GPU)"),
        "max-num-batched-tokens": _count("(vLLM's default for the GPU)"),
        "video": _count("videos of one question (0)"),
        "eager": {"action": "store_true", "help": "without CUDA graphs"},
    },
}
_, CHOICE, _judging = OPTIONS.values()
CONFIGURATION = [name for name in _judging if name != "on"]
OURS = ["concurrency", "min-pixels", "max-pixels"]
HARDWARE = ["on", "quantization", *CHOICE, *CONFIGURATION]
