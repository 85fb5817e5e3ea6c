"""One row for each picture: what the worker writes and what results, report and bill are made of.

Fields are written in this order, each time all of them, so that every line has the same keys.
"""

import json
from collections.abc import Iterator
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticSerializationError

from jobs.errors import PermanentError
from jobs.money import Plain
from jobs.noun import Noun
from jobs.problems import one_line, problems_of

# Line ends to many readers though not to JSON, which lets them stand raw in a string.
_LINE_ENDS = str.maketrans({"\u0085": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})


class _Finite(Noun):
    model_config = ConfigDict(allow_inf_nan=False)


class RowError(_Finite):
    """Why there is no answer: `stage` is where it happened, `retryable` whether to try again.

    detail   figures to the message, such as tokens and limit of a prompt too long
    raw      what the model wrote, when that is what was wrong; cut when it is very long
    """

    code: str
    stage: str
    message: str
    retryable: bool
    detail: dict[str, Any] = Field(default_factory=dict)
    raw: str | None = None


class ImageFacts(_Finite):
    """In pixels: upright original, as stored, as the model saw it; EXIF `orientation` 1 to 8."""

    format: str
    width: int
    height: int
    stored_width: int
    stored_height: int
    orientation: int
    model_width: int
    model_height: int


class Usage(_Finite):
    """Tokens of all tries; `prompt_tokens` includes `image_tokens`.

    `wasted_tokens`, prompt and output, are those of tries whose answer is not in the row.
    """

    prompt_tokens: int
    image_tokens: int
    output_tokens: int
    wasted_tokens: int = 0


class Boxes(_Finite):
    """The boxes of an answer as the model wrote them, by their path in `output`.

    `space` is `model_pixels` (of the picture at its model size) or `relative_1000`.
    """

    space: str
    raw: dict[str, tuple[float, ...]]


class Timing(_Finite):
    """Seconds spent on this picture; a stage that it did not reach has 0."""

    fetch_s: float = 0.0
    decode_s: float = 0.0
    queue_s: float = 0.0
    generate_s: float = 0.0


class Row(_Finite):
    """The answer about one frame of one picture, or the error in its place.

    key          the input's `s3://` address; of a group, its first picture's
    version      version or etag it was pinned to
    cost_usd     its share of the bill; the worker leaves it empty, it knows no price
    time_s       where in a video the frame is
    group        the group's name, with the addresses of all its pictures in `keys`
    fields       what the index says about the input, as it stands there
    confidence   the probability of each chosen value, by its path in `output`
    images       facts of every picture of a group; `image` is the first one's
    """

    key: str
    version: str
    frame: int = Field(default=0, ge=0)
    status: Literal["ok", "error"]
    output: Any = None
    error: RowError | None = None
    warnings: tuple[str, ...] = ()
    image: ImageFacts | None = None
    usage: Usage | None = None
    timing: Timing = Timing()
    attempt: int = Field(default=1, ge=1)
    cost_usd: Plain | None = None
    time_s: float | None = None
    group: str | None = None
    keys: tuple[str, ...] = ()
    fields: dict[str, Any] = Field(default_factory=dict)
    confidence: dict[str, float] | None = None
    boxes: Boxes | None = None
    images: tuple[ImageFacts, ...] = ()

    @model_validator(mode="after")
    def _answer_or_error(self) -> Self:
        if self.status == "ok" and (self.output is None or self.error is not None):
            raise ValueError("status is ok; allowed: an output and no error")
        if self.status == "error" and (self.output is not None or self.error is None):
            raise ValueError("status is error; allowed: an error and no output")
        return self

    @property
    def tokens(self) -> int:
        """Computed for it, read and written."""
        return self.usage.prompt_tokens + self.usage.output_tokens if self.usage else 0

    @property
    def weight(self) -> int:
        """What its share of the work's cost goes by: its tokens, those of pictures twice, since
        the encoder computes each before the language model reads it."""
        return self.tokens + (self.usage.image_tokens if self.usage else 0)

    def to_line(self) -> str:
        """Compact JSON without a line end of any kind."""
        try:
            line = self.model_dump_json()
        except PydanticSerializationError:
            # A model may write half of a surrogate pair: no reason to lose the whole shard.
            line = json.dumps(_encodable(self.model_dump()), default=str, separators=(",", ":"))
        return line if line.isascii() else line.translate(_LINE_ENDS)


def read_rows(text: str | bytes) -> Iterator[Row]:
    """The rows in JSON lines; `PermanentError` names the first line that is not a row."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            yield Row.model_validate_json(line)
        except ValidationError as error:
            problems = one_line(problems_of(error, Row))
            raise PermanentError(f"line {number} is not a row: {problems}") from error


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_encodable(key): _encodable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(inner) for inner in value]
    return value
