"""What was asked: the manifest, from bytes to a checked model, and the job's id derived from it.

Step 1 of a job's life. Everything but `inputs` and `model` has a default. What is wrong is said in
one line, before anything is created or paid for.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, get_args

from jsonschema import Draft202012Validator, SchemaError
from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    model_validator,
)

from jobs.addresses import Address
from jobs.errors import ManifestError, UserError
from jobs.forms import Filled, Index, Key, Name, Prefix, Revision, Usd
from jobs.problems import one_line, problems_of
from jobs.strict_json import decoded, load_strict

PresetName = Literal["inspection"]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
LONGEST_COMPLAINT = 200


class _Part(BaseModel):
    # Strict: "3" is not 3 in a request that costs money.
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, serialize_by_alias=True
    )


class Inputs(_Part):
    """Which pictures, in one of three ways."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": [name], "properties": {name: {"type": kind}}}
                for name, kind in {"prefix": "string", "keys": "array", "index": "string"}.items()
            ]
        }
    )

    prefix: Prefix | None = Field(default=None, description="Every object under this address.")
    keys: tuple[Key, ...] | None = Field(
        default=None, min_length=1, description="Just these objects."
    )
    index: Index | None = Field(
        default=None, description="A JSON Lines object that names the inputs."
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        given = [name for name in ("prefix", "keys", "index") if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            raise ValueError(f"found {found}; allowed: exactly one of prefix, keys, index")
        return self

    @property
    def bucket(self) -> str:
        """The bucket of the inputs; of the first one, when they are keys."""
        return Address.parse(self.prefix or self.index or (self.keys or ("",))[0]).bucket


class CustomTask(_Part):
    """A question of one's own, and the JSON Schema (draft 2020-12) that every answer must meet."""

    prompt: Filled
    json_schema: dict[str, Any] = Field(alias="schema")

    @model_validator(mode="after")
    def _schema_is_a_schema(self) -> Self:
        checker = Draft202012Validator.FORMAT_CHECKER  # also finds a pattern that does not compile
        try:
            Draft202012Validator.check_schema(self.json_schema, format_checker=checker)
        except SchemaError as error:
            path = ".".join(["schema", *map(str, error.absolute_path)])
            what = " ".join(f"{path}: {error.message}".split())[:LONGEST_COMPLAINT]
            raise ValueError(f"not a JSON Schema at {what}") from error
        return self


def _kind_of_task(value: object) -> str | None:
    if isinstance(value, dict | CustomTask):
        return "<custom>"
    return "<preset>" if value in get_args(PresetName) else None


AnyTask = Annotated[
    Annotated[PresetName, Tag("<preset>")] | Annotated[CustomTask, Tag("<custom>")],
    Discriminator(
        _kind_of_task,
        custom_error_type="task",
        custom_error_message="Input should be 'inspection' or an object with prompt and schema",
    ),
]


class Sampling(_Part):
    """How the model chooses its words; the default is the same answer every time."""

    temperature: float = Field(default=0.0, ge=0, le=2)
    top_p: float = Field(default=1.0, gt=0, le=1)
    max_tokens: int = Field(
        default=512, ge=1, le=32768, description="The longest answer, in tokens."
    )
    seed: int = Field(default=0, ge=0, lt=2**63)


class ImageOptions(_Part):
    """Bounds on the pixels of a picture as the model sees it; null leaves it to the model."""

    min_pixels: int | None = Field(default=None, ge=1)
    max_pixels: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        low, high = self.min_pixels, self.max_pixels
        if low is not None and high is not None and low > high:
            raise ValueError(f"found min_pixels {low}, max_pixels {high}; allowed: min <= max")
        return self


class Hardware(_Part):
    """Where to run: by the name of an offer, or "auto" for the cheapest that fits.

    With "auto", `gpus`, `regions`, `spot` and `deadline_s` limit the choice.
    """

    offer: Filled = "local"
    replicas: int = Field(default=1, ge=1, le=64, description="Engine replicas of a local job.")
    gpus: tuple[Filled, ...] = Field(default=(), description="Kinds of GPU; empty is any.")
    regions: tuple[Filled, ...] = Field(default=(), description="Patterns such as eu-*.")
    spot: bool = False
    deadline_s: int | None = Field(default=None, gt=0, description="Until the last answer.")
    quantization: Literal["none", "fp8", "awq", "int8"] | None = Field(
        default=None, description="Default: that of the checkpoint."
    )


class Budget(_Part):
    """Where to stop; null is no bound."""

    max_usd: Usd | None = None
    max_runtime_s: int | None = Field(default=None, gt=0)


class Residency(_Part):
    """Regions that the pictures may be processed in; empty is anywhere."""

    regions: tuple[Filled, ...] = ()


class OnError(_Part):
    """The share of pictures that may fail before the job does; null is any."""

    max_error_rate: float | None = Field(default=None, ge=0, le=1)


class Manifest(_Part):
    """A request for work on pictures."""

    version: Literal[1] = 1
    name: Name = Field(default="job", description="The first part of the job's id.")
    inputs: Inputs
    output: Prefix | None = Field(
        default=None, description="Default: results/NAME/ beside the inputs."
    )
    model: Filled
    revision: Revision | None = Field(
        default=None, description="Commit of the model's repository; pins its own code, if it has."
    )
    acknowledge: tuple[Filled, ...] = Field(
        default=(), description="Licences whose terms you accept, such as qwen-research."
    )
    task: AnyTask = Field(
        default="inspection", description="A preset's name or a task of one's own."
    )
    sampling: Sampling = Sampling()
    image: ImageOptions = ImageOptions()
    hardware: Hardware = Hardware()
    budget: Budget = Budget()
    residency: Residency = Residency()
    on_error: OnError = OnError()
    labels: dict[str, str] = {}
    idempotency_key: Filled | None = Field(
        default=None, description="Two requests with the same name and key are one job."
    )

    @model_validator(mode="after")
    def _output_apart(self) -> Self:
        output = self.output or default_output(self)
        if self.inputs.prefix is not None and overlap(self.inputs.prefix, output):
            raise ValueError(
                f"output: found {json.dumps(output)}, which overlaps inputs.prefix "
                f"{json.dumps(self.inputs.prefix)}; allowed: a prefix apart from the inputs"
            )
        return self


def parse_manifest(text: bytes | str, source: str) -> Manifest:
    """The manifest in `text`; `ManifestError` in one line that begins with `source`."""
    try:
        load_strict(text, source)
        # In JSON mode, where a list may become a tuple and digits a Decimal though types are strict
        return Manifest.model_validate_json(decoded(text))
    except ValidationError as error:
        problems = one_line(problems_of(error, Manifest))
        raise ManifestError(f"{source}: {problems}") from error
    except RecursionError as error:
        raise ManifestError(f"{source}: nested too deeply") from error
    except UserError as error:
        raise ManifestError(str(error)) from error


def manifest_schema() -> dict[str, Any]:
    """The JSON Schema of a manifest, as `zeroshift schema manifest` publishes it."""
    return {"$schema": DIALECT, **Manifest.model_json_schema()}


def default_output(manifest: Manifest) -> str:
    """Where results go when the manifest does not say."""
    return f"s3://{manifest.inputs.bucket}/results/{manifest.name}/"


def overlap(one: str, other: str) -> bool:
    """Whether one prefix lies within the other: results would become inputs."""
    return one.startswith(other) or other.startswith(one)


def job_id(manifest: Manifest) -> str:
    """`name-0123456789ab`: the same request, or the same idempotency key, is the same job."""
    # Without defaults, so that a field added to the model later changes nobody's id.
    content = manifest.model_dump(mode="json", exclude_defaults=True)
    if isinstance(manifest.task, CustomTask):
        # As text: here the order of keys is content, since it is the order of the answer.
        content["task"]["schema"] = json.dumps(manifest.task.json_schema)
    identity = manifest.idempotency_key or _canonical(content)
    return f"{manifest.name}-{hashlib.sha256(identity.encode()).hexdigest()[:12]}"


def _canonical(content: Mapping[str, Any]) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
