"""What was asked: the manifest, from bytes to a checked model, and the job's id derived from it.

Step 1 of a job's life. Everything but `inputs` and `model` has a default. What is wrong is said in
one line, before anything is created or paid for.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, Self

from pydantic import (
    ConfigDict,
    Discriminator,
    Field,
    SerializerFunctionWrapHandler,
    Tag,
    ValidationError,
    model_serializer,
    model_validator,
)

from jobs.addresses import Address
from jobs.errors import ManifestError, UserError
from jobs.forms import Filled, Index, Key, Name, Prefix, Usd
from jobs.manifest_output import AnswerOptions
from jobs.manifest_task import AnyTask, CustomTask, PresetTask
from jobs.parts import Part as _Part
from jobs.problems import Problem, one_line, problems_of
from jobs.strict_json import decoded, load_strict

DIALECT = "https://json-schema.org/draft/2020-12/schema"
PICTURES_PER_GROUP = 8
DETAIL_TOKENS = {"low": 256, "auto": 1280}


def _kind_of_group(value: object) -> str | None:
    if isinstance(value, dict | GroupBy):
        return "<own>"
    return "<folder>" if value == "folder" else None


class GroupBy(_Part):
    """Pictures of one group, by what their keys or their lines in the index have in common."""

    pattern: Filled | None = Field(
        default=None,
        description="A regular expression with one group in parentheses, searched in each key; "
        "equal text in the parentheses is one group.",
    )
    field: Filled | None = Field(default=None, description="A field of the index.")

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.pattern is None) == (self.field is None):
            raise ValueError("found pattern and field, or neither; allowed: exactly one")
        if self.pattern is not None:
            _check_pattern(self.pattern)
        return self


def _check_pattern(pattern: str) -> None:
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise ValueError(f"pattern {pattern!r} is no regular expression: {error}") from error
    if groups != 1:
        raise ValueError(f"pattern {pattern!r} has {groups} groups; allowed: one in parentheses")


AnyGroup = Annotated[
    Annotated[Literal["folder"], Tag("<folder>")] | Annotated[GroupBy, Tag("<own>")],
    Discriminator(
        _kind_of_group,
        custom_error_type="group",
        custom_error_message="Input should be 'folder', or an object with pattern or field",
    ),
]


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
    group_by: AnyGroup | None = Field(
        default=None, description="Ask about several pictures in one prompt: one row a group."
    )
    max_pictures: int | None = Field(
        default=None,
        ge=1,
        le=64,
        description="Pictures in one prompt; a larger group is an error row. Default: 8 with "
        "group_by, else 1. Set it for an index whose lines have lists of keys.",
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        given = [name for name in ("prefix", "keys", "index") if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            raise ValueError(f"found {found}; allowed: exactly one of prefix, keys, index")
        if self.index is None and isinstance(self.group_by, GroupBy) and self.group_by.field:
            raise ValueError("group_by.field is a field of an index; allowed: with inputs.index")
        return self

    @property
    def most_pictures(self) -> int:
        """Of one group; of one line of an index without `group_by`."""
        return self.max_pictures or (1 if self.group_by is None else PICTURES_PER_GROUP)

    @property
    def bucket(self) -> str:
        """The bucket of the inputs; of the first one, when they are keys."""
        return Address.parse(self.prefix or self.index or (self.keys or ("",))[0]).bucket


class Sampling(_Part):
    """How the model chooses its words; the default is the same answer every time."""

    temperature: float = Field(default=0.0, ge=0, le=2)
    top_p: float = Field(default=1.0, gt=0, le=1)
    max_tokens: int | None = Field(
        default=None,
        ge=1,
        le=32768,
        description="The longest answer, in tokens. Default: the longest that the schema allows, "
        "within reason.",
    )
    seed: int = Field(default=0, ge=0, lt=2**63)


class ImageOptions(_Part):
    """Bounds on a picture as the model sees it; null leaves it to the model."""

    min_pixels: int | None = Field(default=None, ge=1)
    max_pixels: int | None = Field(default=None, ge=1)
    tokens: int | None = Field(
        default=None, ge=1, description="The most tokens that a picture may take."
    )
    detail: Literal["low", "auto", "high"] | None = Field(
        default=None,
        description="low: at most 256 tokens a picture; auto: as many as it has pixels for, at "
        "most 1280; high: as many as it has pixels for, as far as the model goes.",
    )

    frames: str = Field(
        default="first",
        pattern=r"^(first|all|every:[1-9]\d{0,5})$",
        description="Which pages of a document and frames of an animation: first, all, every:N.",
    )
    video: str = Field(
        default="count:8",
        pattern=r"^(count:[1-9]\d{0,5}|seconds:\d{1,6}(\.\d{1,3})?|scene(:0?\.\d{1,4})?)$",
        description="Which moments of a video: count:N, evenly spread; seconds:S, one each; scene, "
        "the first of each.",
    )
    together: bool = Field(
        default=False,
        description="All wanted frames of a file in one prompt and one row, instead of a row each.",
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        low, high = self.min_pixels, self.max_pixels
        if low is not None and high is not None and low > high:
            raise ValueError(f"found min_pixels {low}, max_pixels {high}; allowed: min <= max")
        if self.tokens is not None and self.detail is not None:
            raise ValueError("found tokens and detail; allowed: one of them")
        return self

    @property
    def most_tokens(self) -> int | None:
        """The most tokens of one picture; None is as far as the pixel bounds and the model go."""
        return self.tokens or DETAIL_TOKENS.get(self.detail or "high")


class Hardware(_Part):
    """Where to run, by the name of an offer, and on how many engine replicas."""

    offer: Filled = "local"
    replicas: int = Field(default=1, ge=1, le=64)


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
        default=None,
        description="Where results go. Default: results/NAME/ beside the inputs. Or an object: "
        "prefix, and how answers are to be.",
    )
    answer: AnswerOptions = AnswerOptions()  # written under `output`, see `_apart`
    model: Filled
    task: AnyTask = Field(
        default="inspection", description="A preset's name or a task of one's own."
    )
    sampling: Sampling = Sampling()
    image: ImageOptions = ImageOptions()
    hardware: Hardware = Hardware()
    budget: Budget = Budget()
    residency: Residency = Residency()
    on_error: OnError = OnError()
    labels: dict[str, str] = Field(default={})
    idempotency_key: Filled | None = Field(
        default=None, description="Two requests with the same name and key are one job."
    )

    @property
    def pictures_per_prompt(self) -> int:
        """The most pictures that one prompt may hold: what an engine must be set up for."""
        grouped = self.inputs.group_by is not None or self.image.together
        return self.inputs.max_pictures or (PICTURES_PER_GROUP if grouped else 1)

    @model_validator(mode="after")
    def _output_apart(self) -> Self:
        output = self.output or default_output(self)
        if self.inputs.prefix is not None and overlap(self.inputs.prefix, output):
            raise ValueError(
                f"output: found {json.dumps(output)}, which overlaps inputs.prefix "
                f"{json.dumps(self.inputs.prefix)}; allowed: a prefix apart from the inputs"
            )
        return self

    @model_serializer(mode="wrap")
    def _as_it_is_written(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        plain: dict[str, Any] = dump(self)
        answer = plain.pop("answer", {})
        if self.answer != AnswerOptions():
            plain["output"] = {"prefix": plain.get("output"), **answer}
        return plain


def parse_manifest(text: bytes | str, source: str) -> Manifest:
    """The manifest in `text`; `ManifestError` in one line that begins with `source`."""
    try:
        document = load_strict(text, source)
        output = document.get("output") if isinstance(document, dict) else None
        if isinstance(output, dict):
            text = json.dumps({**document, **_apart(output)})
        # In JSON mode, where a list may become a tuple and digits a Decimal though types are strict
        return Manifest.model_validate_json(decoded(text))
    except ValidationError as error:
        problems = one_line([_under_output(each) for each in problems_of(error, Manifest)])
        raise ManifestError(f"{source}: {problems}") from error
    except RecursionError as error:
        raise ManifestError(f"{source}: nested too deeply") from error
    except UserError as error:
        raise ManifestError(str(error)) from error


def _apart(output: dict[str, Any]) -> dict[str, Any]:
    """`output` as an object: its prefix stays, the rest is about answers."""
    answer = {name: value for name, value in output.items() if name != "prefix"}
    return {"output": output.get("prefix"), "answer": answer}


def _under_output(problem: Problem) -> Problem:
    """A problem where the writer of the manifest knows it."""
    if not problem.where or problem.where[0] != "answer":
        return problem
    return replace(problem, where=("output", *problem.where[1:]))


def manifest_schema() -> dict[str, Any]:
    """The JSON Schema of a manifest, as `zeroshift schema manifest` publishes it."""
    schema = Manifest.model_json_schema()
    options = schema["$defs"]["AnswerOptions"]["properties"]
    prefix = schema["properties"]["output"]["anyOf"]
    whole = {"type": "object", "properties": {"prefix": {"anyOf": [*prefix]}, **options}}
    prefix.append({**whole, "additionalProperties": False})
    del schema["properties"]["answer"]
    return {"$schema": DIALECT, **schema}


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
    if isinstance(manifest.task, CustomTask | PresetTask) and manifest.task.json_schema:
        # As text: here the order of keys is content, since it is the order of the answer.
        content["task"]["schema"] = json.dumps(manifest.task.json_schema)
    identity = manifest.idempotency_key or _canonical(content)
    return f"{manifest.name}-{hashlib.sha256(identity.encode()).hexdigest()[:12]}"


def _canonical(content: Mapping[str, Any]) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
