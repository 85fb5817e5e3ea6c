"""What a job asks of the hardware: how many pictures of which sizes, and how much text."""

from dataclasses import dataclass

from infra.errors import PlanRefused
from infra.models.spec import ModelSpec
from infra.planner.image_tokens import (
    TokenDistribution,
    distribution,
    largest_image_tokens,
)

MOST = 10**12  # of any count: far above every real job, far below where figures break
USED_SHARE = 0.5  # of the longest answer, in an average answer: assumed until a job has measured it


@dataclass(frozen=True, slots=True)
class Workload:
    """A job as the planner sees it.

    sizes           width and height of pictures, in pixels: a sample, or the one size of all
    prompt_tokens   text around the pictures of one question, chat template included
    max_output      longest answer, in tokens; `mean_output` is what answers take on average
    concurrency     pictures that must be in work at a time; None: as many as fit
    pictures        pictures of one question
    """

    images: int
    sizes: tuple[tuple[int, int], ...]
    prompt_tokens: int = 256
    max_output: int = 512
    mean_output: float | None = None
    concurrency: int | None = None
    pictures: int = 1
    min_pixels: int | None = None
    max_pixels: int | None = None

    def __post_init__(self) -> None:
        if not self.sizes:
            raise PlanRefused("image: no picture size is known; allowed: one size or more")
        counts = {
            "images": self.images,
            "prompt-tokens": self.prompt_tokens,
            "max-output-tokens": self.max_output,
            "concurrency": self.concurrency,
            "pictures": self.pictures,
        }
        for name, value in counts.items():
            least = 0 if name == "prompt-tokens" else 1
            check_count(name, value, least)

    @property
    def output_tokens(self) -> float:
        return self.max_output * USED_SHARE if self.mean_output is None else self.mean_output


def check_count(name: str, value: int | None, least: int = 1) -> None:
    """`PlanRefused` for a number that nothing can be computed with."""
    if value is None:
        return
    if value < least:
        raise PlanRefused(f"{name}: found {value}; allowed: {least} and more")
    if value > MOST:
        raise PlanRefused(f"{name}: found more than {MOST:,}; allowed: {least} to {MOST:,}")


@dataclass(frozen=True, slots=True)
class Tokens:
    """A workload in tokens of one model.

    distribution   of the pictures of the job
    largest        of the largest picture that the processor can make: what the engine is sized for
    sequence       of one question with its answer, on average
    longest        of one question with its answer, at most
    """

    distribution: TokenDistribution
    largest: int
    largest_patches: int
    sequence: int
    longest: int


def longest_asked(spec: ModelSpec, work: Workload, tokens: Tokens) -> int:
    """Tokens of the longest question of these very pictures, with its answer."""
    shown = tokens.distribution.max if spec.image.in_prompt else 0
    around = work.prompt_tokens + work.pictures * spec.image.wrapper
    return work.pictures * shown + around + work.max_output


def tokens_of(spec: ModelSpec, work: Workload) -> Tokens:
    """Count `work` in the tokens of `spec`."""
    pictures = distribution(spec, work.sizes, work.min_pixels, work.max_pixels)
    largest = largest_image_tokens(spec, work.min_pixels, work.max_pixels)
    in_prompt = spec.image.in_prompt
    around = work.prompt_tokens + work.pictures * spec.image.wrapper
    mean = work.pictures * pictures.mean if in_prompt else 0.0
    most = work.pictures * largest.tokens if in_prompt else 0
    return Tokens(
        distribution=pictures,
        largest=largest.tokens,
        largest_patches=largest.patches,
        sequence=round(mean + around + work.output_tokens),
        longest=most + around + work.max_output,
    )
