"""What was asked: the manifest, from bytes to a checked model, and the job's id derived from it.

Step 1 of a job's life. Everything but `inputs` and `model` has a default. What is wrong is said in
one line, before anything is created or paid for.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from jobs.errors import ManifestError, UserError
from jobs.manifest.forms import Filled, Labels, Name, Prefix, Revision, Usd
from jobs.manifest.image import ImageOptions
from jobs.manifest.inputs import PICTURES_PER_GROUP, Inputs
from jobs.manifest.output import AnswerOptions
from jobs.manifest.parts import Part as _Part
from jobs.manifest.task import AnyTask, CustomTask, PresetTask
from jobs.problems import Problem, one_line, problems_of
from jobs.strict_json import decoded, load_strict

LONGEST_MODEL = 1024

__all__ = ["CustomTask", "ImageOptions", "Inputs", "Manifest", "job_id", "parse_manifest"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"


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


class Hardware(_Part):
    """Where to run: by the name of an offer, several to be tried in their order while one has no
    node to give, or "auto" for the cheapest that fits.

    With "auto", `gpus`, `regions`, `spot` and `deadline_s` limit the choice.
    """

    offer: Filled | tuple[Filled, ...] = "local"
    replicas: int = Field(default=1, ge=1, le=64, description="Engine replicas of a local job.")
    gpus: tuple[Filled, ...] = Field(default=(), description="Kinds of GPU; empty is any.")
    regions: tuple[Filled, ...] = Field(default=(), description="Patterns such as eu-*.")
    spot: bool = False
    deadline_s: int | None = Field(default=None, gt=0, description="Until the last answer.")
    quantization: Literal["none", "fp8", "awq", "int8"] | None = Field(
        default=None, description="Default: that of the checkpoint."
    )

    @property
    def offers(self) -> tuple[str, ...]:
        """The names, in the order in which they are tried."""
        return (self.offer,) if isinstance(self.offer, str) else self.offer

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        names = self.offers
        if not names or len(set(names)) < len(names) or ("auto" in names and len(names) > 1):
            raise ValueError(
                f"offer: found {json.dumps(names)}; allowed: a name, or several different ones "
                'without "auto", which has an order of its own'
            )
        return self


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
    model: Annotated[Filled, Field(max_length=LONGEST_MODEL)]
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
    max_wait_s: int = Field(
        default=0,
        ge=0,
        le=7 * 24 * 3600,
        description="Seconds that the job may be held for another to share its cold start.",
    )
    labels: Labels = Field(
        default={}, description="Up to 50 names of up to 128 characters, values of up to 256."
    )
    webhook: Filled | None = Field(
        default=None,
        description="Address that is told when the job has ended; the settings allow which.",
    )
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
