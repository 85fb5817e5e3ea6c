"""What every engine can do: the contract of `worker.engines`.

vLLM is the engine; the fake beside it passes the same contract tests where none can run. An
OpenAI-compatible endpoint is to be a third.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol

from PIL import Image


@dataclass(frozen=True, slots=True)
class Question:
    """One picture and what is asked about it; `answer_schema` is enforced while decoding."""

    request_id: str
    image: Image.Image
    prompt: str
    answer_schema: dict[str, Any]
    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 512
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """The raw text, why it ended (`stop` or `length`), and what it cost in tokens.

    `prompt_tokens` include `image_tokens`; `generate_s` is from asking to the last token.
    """

    request_id: str
    text: str
    finish_reason: str
    prompt_tokens: int
    image_tokens: int
    output_tokens: int
    generate_s: float
    queue_s: float


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """`model` is a folder; `settings` come from the planner and reach the engine as they are."""

    model: str
    settings: dict[str, Any] = field(default_factory=dict)


class Engine(Protocol):
    """Answers questions, many at a time."""

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
