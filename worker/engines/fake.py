"""An engine of rules, for tests of what surrounds an engine; it passes the engine contract."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from worker.engines.base import Answer, EngineOptions, Question
from worker.engines.errors import EngineDead

Rule = Callable[[Question], str]


def smallest(schema: dict[str, Any]) -> Any:
    """The smallest value that satisfies a simple schema: first enum value, least number, none."""
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "object":
        wanted = schema.get("required", ())
        return {name: smallest(schema["properties"][name]) for name in wanted}
    if schema.get("type") == "array":
        return [smallest(schema["items"])] * int(schema.get("minItems", 0))
    plain = {"string": "", "boolean": False, "null": None}
    return plain.get(str(schema.get("type")), schema.get("minimum", 0))


def _by_schema(question: Question) -> str:
    return json.dumps(smallest(question.answer_schema))


class FakeEngine:
    """Answers by `rule`; see `worker.engines.base.Engine`."""

    def __init__(self, options: EngineOptions, rule: Rule = _by_schema) -> None:
        self._rule = rule
        self._running = False
        self.asked: list[str] = []

    async def start(self) -> None:
        self._running = True

    async def ask(self, question: Question) -> Answer:
        await self.check()
        self.asked.append(question.request_id)
        await asyncio.sleep(0)
        text = self._rule(question)
        cut = text[: question.max_tokens]
        return Answer(
            request_id=question.request_id,
            text=cut,
            finish_reason="stop" if cut == text else "length",
            prompt_tokens=len(question.prompt.split()) + 1,
            image_tokens=1,
            output_tokens=len(cut),
            generate_s=0.0,
            queue_s=0.0,
        )

    async def check(self) -> None:
        if not self._running:
            raise EngineDead("the engine is not running")

    def stop(self) -> None:
        self._running = False
