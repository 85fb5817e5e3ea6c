"""The manifest's `task`: a preset by name, a preset with changes, or a task of one's own."""

from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Discriminator, Field, Tag, model_validator

from jobs.manifest.forms import Filled, ImportPath
from jobs.manifest.parts import Part

PresetName = Literal["inspection", "ocr", "catalogue", "caption", "vqa"]
LONGEST_COMPLAINT = 200
OPTIONS = {"inspection": ("kinds", "severity"), "ocr": ("style",)}


def _kind_of_schema(value: object) -> str | None:
    if isinstance(value, dict):
        return "<object>"
    return "<path>" if isinstance(value, str) else None


AnySchema = Annotated[
    Annotated[dict[str, Any], Tag("<object>")] | Annotated[ImportPath, Tag("<path>")],
    Discriminator(
        _kind_of_schema,
        custom_error_type="schema",
        custom_error_message="Input should be an object, or module:Model for a pydantic model",
    ),
]


class CustomTask(Part):
    """A question of one's own, and the JSON Schema (draft 2020-12) that every answer must meet."""

    prompt: Filled = Field(
        description="What is asked. {name} stands for the field of that name in the index; "
        "{{name}} is the text {name}."
    )
    json_schema: AnySchema = Field(
        alias="schema",
        description="A JSON Schema, or module:Model: a pydantic model that is importable where the "
        "job is submitted.",
    )
    box_field: Filled | None = Field(
        default=None,
        description="The key whose values are boxes [x1, y1, x2, y2] in the model's own space, to "
        "be mapped to pixels of the picture.",
    )

    @model_validator(mode="after")
    def _schema_is_a_schema(self) -> Self:
        check_schema(self.json_schema)
        return self


class PresetTask(Part):
    """A preset with changes; what is left out is the preset's own."""

    preset: PresetName
    prompt: Filled | None = None
    json_schema: dict[str, Any] | None = Field(default=None, alias="schema")
    kinds: tuple[Filled, ...] | None = Field(
        default=None, min_length=1, description="inspection: the kinds of defect there are."
    )
    severity: bool | None = Field(
        default=None, description="inspection: whether each defect is graded."
    )
    style: Literal["blocks", "markdown"] | None = Field(
        default=None, description="ocr: blocks of text with boxes, or the page as Markdown."
    )

    @model_validator(mode="after")
    def _options_fit(self) -> Self:
        fitting = OPTIONS.get(self.preset, ())
        for name in ("kinds", "severity", "style"):
            if getattr(self, name) is not None and name not in fitting:
                allowed = ", ".join(("prompt", "schema", *fitting))
                raise ValueError(f"{name} is no option of {self.preset!r}; allowed: {allowed}")
        check_schema(self.json_schema)
        return self

    def options(self) -> dict[str, Any]:
        """The preset's own options that are given."""
        given = {name: getattr(self, name) for name in OPTIONS.get(self.preset, ())}
        return {name: value for name, value in given.items() if value is not None}


def check_schema(schema: object) -> None:
    """`ValueError` that names the place when `schema` is an object but no JSON Schema."""
    if not isinstance(schema, dict):
        return
    # Takes as long to import as all the rest of a manifest, and most manifests name a preset.
    from jsonschema import Draft202012Validator, SchemaError

    checker = Draft202012Validator.FORMAT_CHECKER  # also finds a pattern that does not compile
    try:
        Draft202012Validator.check_schema(schema, format_checker=checker)
    except SchemaError as error:
        path = ".".join(["schema", *map(str, error.absolute_path)])
        what = " ".join(f"{path}: {error.message}".split())[:LONGEST_COMPLAINT]
        raise ValueError(f"not a JSON Schema at {what}") from error


def _kind_of_task(value: object) -> str | None:
    if isinstance(value, PresetTask) or (isinstance(value, dict) and "preset" in value):
        return "<changed>"
    if isinstance(value, dict | CustomTask):
        return "<custom>"
    return "<preset>" if value in get_args(PresetName) else None


AnyTask = Annotated[
    Annotated[PresetName, Tag("<preset>")]
    | Annotated[PresetTask, Tag("<changed>")]
    | Annotated[CustomTask, Tag("<custom>")],
    Discriminator(
        _kind_of_task,
        custom_error_type="task",
        custom_error_message="Input should be one of "
        + ", ".join(repr(name) for name in get_args(PresetName))
        + ", or an object with prompt and schema",
    ),
]
