"""An engine of rules, for tests of what surrounds an engine; it passes the engine contract."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from worker.engines.base import Answer, EngineOptions, Question
from worker.engines.errors import EngineDead

Rule = Callable[[Question], str | Answer]


def smallest(schema: dict[str, Any]) -> Any:
    """The smallest value that satisfies a simple schema: first enum value, least number, none."""
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "object":
        wanted = schema.get("required", ())
        return {name: smallest(schema["properties"][name]) for name in wanted}
    if schema.get("type") == "array":
        return [smallest(schema["items"])] * int(schema.get("minItems", 0))
    if schema.get("type") == "string":
        return "x" * int(schema.get("minLength", 0))
    plain = {"boolean": False, "null": None}
    return plain.get(str(schema.get("type")), schema.get("minimum", 0))


def _by_schema(question: Question) -> str:
    spelled = question.spelled
    separators = (spelled.item_separator, spelled.key_separator)
    answer = smallest(question.answer_schema or {})
    return json.dumps(answer, separators=separators, indent=spelled.indent)


class FakeEngine:
    """Answers by `rule`, each time after `pause_s`; see `worker.engines.base.Engine`.

    A word of a prompt is a token.
    """

    def __init__(
        self,
        options: EngineOptions,
        rule: Rule = _by_schema,
        context: int | None = None,
        pause_s: float = 0.0,
    ) -> None:
        self._pause_s = pause_s
        self._rule = rule
        self._running = False
        self.context = context
        self.asked: list[str] = []
        self.questions: list[Question] = []

    async def start(self) -> None:
        self._running = True

    def text_tokens(self, prompt: str, pictures: int) -> int:
        return len(prompt.split())

    async def ask(self, question: Question) -> Answer:
        await self.check()
        self.asked.append(question.request_id)
        self.questions.append(question)
        await asyncio.sleep(self._pause_s)
        try:
            said = self._rule(question)
        except EngineDead:
            self._running = False
            raise
        return said if isinstance(said, Answer) else self._answer(question, said)

    def _answer(self, question: Question, text: str) -> Answer:
        cut = text[: question.max_tokens]
        return Answer(
            request_id=question.request_id,
            text=cut,
            finish_reason="stop" if cut == text else "length",
            prompt_tokens=len(question.prompt.split()) + len(question.images),
            image_tokens=len(question.images),
            output_tokens=len(cut),
            generate_s=0.0,
            queue_s=0.0,
        )

    async def check(self) -> None:
        if not self._running:
            raise EngineDead("the engine is not running")

    def stop(self) -> None:
        self._running = False
