"""A model that is not in the catalogue, read from its checkpoint's own files.

config.json says what it is made of, the processor's file how it cuts pictures up, and what the
weights hold is held against the count that the planner makes.
"""

from dataclasses import replace
from datetime import UTC, datetime

from infra.errors import PlanRefused
from infra.models.layouts import read_parts
from infra.models.parameters import count_parameters
from infra.models.safetensors import holds_output_head, stored_numbers
from infra.models.sections import Section, read_section
from infra.models.sources import CONFIG, Reader
from infra.models.spec import Decoder, ModelSpec, Quantization

PROCESSOR, NESTED = "preprocessor_config.json", "processor_config.json"
NUMBER_BYTES = {"bfloat16": 2, "float16": 2, "float32": 4}
AWQ_BITS, AWQ_GROUP = 4, 128
LAST_VLLM = {"mllama": "0.10.2"}


def read_spec(name: str, reader: Reader, dated: str | None = None) -> ModelSpec:
    """The model whose files `reader` reads; `name` is what people call it.

    `PlanRefused` in one line that names file and key when something is missing, wrong, or of a kind
    that the planner does not know. The licence is unknown: no file that is read here holds it.
    """
    config = read_section(reader, CONFIG, name)
    if config is None:
        raise PlanRefused(f"model: {name!r} has no {CONFIG}; allowed: a checkpoint with one")
    parts = read_parts(config, _processor(reader, name))
    quantization, note = _quantization(config)
    spec = ModelSpec(
        name=name,
        family=config.text("model_type"),
        decoder=_as_loaded(parts.decoder, reader, name),
        encoder=parts.encoder,
        image=parts.image,
        licence="unknown",
        remote_code=parts.remote_code,
        boxes=parts.boxes,
        source=f"{CONFIG} of {name}",
        dated=dated or datetime.now(UTC).date().isoformat(),
        quantization=quantization,
        last_vllm=LAST_VLLM.get(config.text("model_type")),
        note=note,
    )
    return spec if quantization != "none" else _checked(spec, reader, config)


def _as_loaded(decoder: Decoder, reader: Reader, name: str) -> Decoder:
    """A head that is stored apart is loaded apart, even where the configuration ties it."""
    if decoder.tied and holds_output_head(reader, name):
        return replace(decoder, tied=False)
    return decoder


def _processor(reader: Reader, name: str) -> Section:
    """The image processor's settings: a file of its own, or nested in the processor's."""
    plain = read_section(reader, PROCESSOR, name)
    if plain is not None and plain.values:
        return plain
    whole = read_section(reader, NESTED, name)
    nested = whole.section("image_processor") if whole else None
    return nested or Section(f"{PROCESSOR} of {name!r}", {})


def _quantization(config: Section) -> tuple[Quantization, str]:
    """How the weights are stored, and a note where that is not quite as the planner counts."""
    quantized = config.section("quantization_config")
    if quantized is None:
        return "none", ""
    method = quantized.text("quant_method")
    match method:
        case "fp8" | "fbgemm_fp8":
            return "fp8", ""
        case "awq":
            return "awq", _awq_note(quantized)
        case "compressed-tensors":
            return _compressed(quantized), ""
    raise quantized.refused(
        "quant_method",
        f"is {method!r}; allowed: fp8, awq, compressed-tensors of 8 bits, or no quantisation",
    )


def _awq_note(quantized: Section) -> str:
    quantized.expect("bits", AWQ_BITS, default=quantized.values.get("w_bit", AWQ_BITS))
    group = quantized.whole("group_size", "q_group_size", default=AWQ_GROUP)
    if group == AWQ_GROUP:
        return ""
    return f"Weights are in groups of {group}; the planner counts groups of {AWQ_GROUP}."


def _compressed(quantized: Section) -> Quantization:
    """The 8 bits of the format's groups: floats or whole numbers, and the same in all of them."""
    groups = quantized.needed_section("config_groups")
    weights = [groups.needed_section(key).needed_section("weights") for key in groups.values]
    found = {(group.text("type"), group.optional("num_bits")) for group in weights}
    if found == {("float", 8)}:
        return "fp8"
    if found == {("int", 8)}:
        return "int8"
    shown = ", ".join(sorted(f"{kind} of {bits} bits" for kind, bits in found)) or "empty"
    raise quantized.refused("config_groups", f"is {shown}; allowed: float or int of 8 bits")


def _checked(spec: ModelSpec, reader: Reader, config: Section) -> ModelSpec:
    """`spec`, with a note when its files hold another count of numbers than its dimensions make."""
    dtype = config.text("dtype") or config.text("torch_dtype")
    stored = stored_numbers(reader, spec.name, NUMBER_BYTES.get(dtype))
    counted = count_parameters(spec).total
    if stored is None or stored == counted:
        return spec
    note = f"Its files hold {stored:,} numbers, its dimensions make {counted:,}."
    return replace(spec, note=note)
