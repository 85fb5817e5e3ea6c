"""What every engine can do: the contract of `worker.engines`.

vLLM is the engine; the fake beside it passes the same contract tests where none can run. An
OpenAI-compatible endpoint is to be a third.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol

from PIL import Image

from jobs.order import AnswerFormat

SPACED = AnswerFormat()


@dataclass(frozen=True, slots=True)
class Question:
    """Pictures and what is asked about them.

    others          the pictures after the first, of a group
    answer_schema   enforced while decoding, spelled as `spelled` says; None leaves the model free
    probabilities   whether the answer tells how probable each of its tokens was
    """

    request_id: str
    image: Image.Image
    prompt: str
    answer_schema: dict[str, Any] | None
    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 512
    seed: int = 0
    others: tuple[Image.Image, ...] = ()
    spelled: AnswerFormat = SPACED
    probabilities: bool = False

    @property
    def images(self) -> tuple[Image.Image, ...]:
        """All pictures, in their order in the prompt."""
        return (self.image, *self.others)


@dataclass(frozen=True, slots=True)
class Answer:
    """The raw text, why it ended, and what it cost in tokens.

    finish_reason   `stop`; `length`: cut at max_tokens; `repetition`: it went in circles; or that
                    the engine gave it up
    prompt_tokens   with `image_tokens`
    generate_s      from asking to the last token
    ends            where in `text` each token ends, and `logprobs` how probable it was; empty
                    unless asked for
    """

    request_id: str
    text: str
    finish_reason: str
    prompt_tokens: int
    image_tokens: int
    output_tokens: int
    generate_s: float
    queue_s: float
    ends: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """`model` is a folder; `settings` come from the planner and reach the engine as they are."""

    model: str
    settings: dict[str, Any] = field(default_factory=dict)


class Engine(Protocol):
    """Answers questions, many at a time."""

    @property
    def context(self) -> int | None:
        """The most tokens of a prompt with its answer; None: the engine does not say."""

    def text_tokens(self, prompt: str, pictures: int) -> int:
        """Tokens of a prompt with its template around it, without what the pictures take."""

    async def start(self) -> None:
        """Load the model. `EngineStartFailed` when it can't."""

    async def ask(self, question: Question) -> Answer:
        """Answer one question; await many at once, the engine batches them.

        `QuestionRefused` when this question can't be asked (too long); `EngineDead` when no
        question can be answered any more.
        """

    async def check(self) -> None:
        """`EngineDead` when no question can be answered any more."""

    def stop(self) -> None:
        """Free everything; idempotent."""
