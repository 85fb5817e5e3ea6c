"""What the manifest says about answers: how they are written, asked again, and doubted."""

from typing import Annotated, Literal, Self, get_args

from pydantic import Discriminator, Field, Tag, model_validator

from jobs.manifest.forms import form
from jobs.manifest.parts import Part
from jobs.order import AnswerFormat

FormatName = Literal["auto", "spaced", "compact", "pretty"]
FORMATS: dict[str, AnswerFormat] = {
    "spaced": AnswerFormat(),
    "compact": AnswerFormat(item_separator=",", key_separator=":"),
    "pretty": AnswerFormat(item_separator=",", indent=2),
}


class FormatOptions(Part):
    """A format of one's own: just how the model was trained to write its answers."""

    item_separator: Annotated[str, *form(r",[ \t\n]*", "a comma, and white space after it")] = ", "
    key_separator: Annotated[
        str, *form(r"[ \t]*:[ \t\n]*", "a colon, and white space around it")
    ] = ": "
    indent: int | None = Field(default=None, ge=0, le=8)
    any_key_order: bool = Field(
        default=False,
        description="Whether keys may come in any order. Missing and repeated keys are then found "
        "by the check and not prevented by the grammar.",
    )
    optional: Literal["omit", "always"] = Field(
        default="omit", description="always: fields that may be left out are written too."
    )
    fenced: bool = Field(default=False, description="Whether the answer stands in ```json fences.")

    @model_validator(mode="after")
    def _lines_end_with_commas(self) -> Self:
        if self.indent is not None and self.item_separator != ",":
            raise ValueError(
                f"found indent and item_separator {self.item_separator!r}; allowed: ',' with indent"
            )
        return self


def _kind_of_format(value: object) -> str | None:
    if isinstance(value, dict | FormatOptions):
        return "<own>"
    return "<name>" if value in get_args(FormatName) else None


AnyFormat = Annotated[
    Annotated[FormatName, Tag("<name>")] | Annotated[FormatOptions, Tag("<own>")],
    Discriminator(
        _kind_of_format,
        custom_error_type="format",
        custom_error_message="Input should be one of "
        + ", ".join(repr(name) for name in get_args(FormatName))
        + ", or an object",
    ),
]


class AnswerOptions(Part):
    """Beside `prefix`, what stands under `output`."""

    format: AnyFormat = Field(
        default="auto", description="How answers are spelled; auto is the model family's own way."
    )
    confidence: bool = Field(
        default=False, description="Whether rows tell the probability of each chosen value."
    )
    report: bool = Field(
        default=True,
        description="Whether a page to look at, report.html, is written beside the results, with "
        "small pictures that the worker keeps of what it decodes.",
    )
    retry: bool = Field(
        default=True, description="Whether a wrong answer is asked for once more, differently."
    )
    grammar_check: int | None = Field(
        default=None,
        ge=0,
        le=256,
        description="Pictures asked without the grammar too, to see whether it changes answers. "
        "Default: 8 in a job of 400 pictures or more, else none.",
    )

    def answer_format(self) -> AnswerFormat | None:
        """The format to force; None leaves it to the model's family."""
        if isinstance(self.format, FormatOptions):
            return AnswerFormat(**self.format.model_dump())
        return FORMATS.get(self.format)

    def sample(self, pictures: int) -> int:
        """How many pictures of a job of so many are asked without the grammar too."""
        if self.grammar_check is not None:
            return self.grammar_check
        return SAMPLED if pictures >= SAMPLED_FROM else 0


SAMPLED, SAMPLED_FROM = 8, 400  # at most 2 % more questions
