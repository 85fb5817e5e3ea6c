"""Does the grammar change what the model answers? The same pictures, asked with it and without.

A grammar that spells answers otherwise than the model was trained to costs accuracy in silence:
verdicts fell from 100 % to 45 % in one measured case. Here it shows.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from jobs.order import GrammarCheck
from jobs.strict_json import load_strict
from worker.asking import Asker
from worker.check import unfenced
from worker.confidence import is_choice
from worker.engines.base import Question
from worker.errors import AskError

SHOWN, LONGEST = 3, 300


@dataclass
class Comparison:
    """Adds up, picture by picture."""

    asked: int = 0
    agreed: int = 0
    same: int = 0
    examples: list[str] = field(default_factory=list)

    async def compare(self, asker: Asker, question: Question, forced: str) -> None:
        """Ask `question` without the grammar; `forced` is what was answered with it."""
        name = f"{question.request_id}/free"
        free = replace(question, request_id=name, answer_schema=None, probabilities=False)
        try:
            answer = await asker.put(free)
        except AskError:
            return
        self.add(forced, answer.text, asker.order.answer_schema)

    def add(self, forced: str, free: str, schema: dict[str, Any]) -> None:
        one, other = _parsed(forced), _parsed(free)
        agreed = other is not None and _choices(one, schema) == _choices(other, schema)
        self.asked += 1
        self.agreed += agreed
        self.same += one == other
        if not agreed and len(self.examples) < SHOWN:
            self.examples.append(f"with: {forced[:LONGEST]} without: {free[:LONGEST]}")

    def result(self) -> GrammarCheck | None:
        if not self.asked:
            return None
        return GrammarCheck(
            asked=self.asked, agreed=self.agreed, same=self.same, examples=tuple(self.examples)
        )


def _parsed(text: str) -> Any:
    try:
        return load_strict(unfenced(text), "answer")
    except Exception:  # a model that is free may write anything, which then agrees with nothing
        return None


def _choices(value: Any, node: Any) -> Any:
    """`value` with its closed choices alone: free texts and numbers may well differ."""
    if not isinstance(node, dict):
        return None
    if is_choice(node):
        return value
    if isinstance(value, dict):
        known = node.get("properties", {})
        return {name: _choices(inner, known.get(name)) for name, inner in sorted(value.items())}
    if isinstance(value, list):
        return [_choices(inner, node.get("items")) for inner in value]
    return None if value is not None else "nothing"
