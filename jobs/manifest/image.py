"""The manifest's `image`: how large pictures are to the model, and which frames are pictures."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from jobs.manifest.forms import form
from jobs.manifest.parts import Part

MOST_PIXELS, MOST_TOKENS = 10**10, 10**6  # above every model; the planner counts no further
DETAIL_TOKENS = {"low": 256, "auto": 1280}
Frames = Annotated[
    str, *form(r"(first|all|every:[1-9]\d{0,5})", "first, all or every:N, as every:10")
]
Moments = Annotated[
    str,
    *form(
        r"(count:[1-9]\d{0,5}|seconds:\d{1,6}(\.\d{1,3})?|scene(:0?\.\d{1,4})?)",
        "count:N, seconds:S or scene, as count:8",
    ),
]


class ImageOptions(Part):
    """Bounds on a picture as the model sees it; null leaves it to the model."""

    min_pixels: int | None = Field(default=None, ge=1, le=MOST_PIXELS)
    max_pixels: int | None = Field(default=None, ge=1, le=MOST_PIXELS)
    tokens: int | None = Field(
        default=None,
        ge=1,
        le=MOST_TOKENS,
        description="The most tokens that a picture may take.",
    )
    detail: Literal["low", "auto", "high"] | None = Field(
        default=None,
        description="low: at most 256 tokens a picture; auto: as many as it has pixels for, at "
        "most 1280; high: as many as it has pixels for, as far as the model goes.",
    )

    frames: Frames = Field(
        default="first",
        description="Which pages of a document and frames of an animation: first, all, every:N.",
    )
    video: Moments = Field(
        default="count:8",
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
