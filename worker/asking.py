"""Ask about one prompt's pictures and check the answer; once more when that can help.

The ask and check stages of a row. Tokens are counted before the engine sees the question, so that
one that is too long is its row's error and no trouble of the engine's.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from jobs.order import AnswerFormat, Order
from jobs.rows import Boxes, ImageFacts, Usage
from worker.boxes import BoxMap, bounded
from worker.busy import Busy
from worker.check import check_answer
from worker.confidence import confidence
from worker.engines.base import Answer, Engine, Question
from worker.engines.errors import EngineDead, EngineKilled, QuestionRefused
from worker.errors import AskError, CheckError
from worker.families import Family
from worker.pictures import Prepared
from worker.task_checks import TASK_CHECKS

BRACES = re.compile(r"\{\{(?P<escaped>[A-Za-z_][A-Za-z0-9_]*)\}\}|\{(?P<name>[A-Za-z_]\w*)\}")
# At temperature 0 another seed changes nothing: the second try may wander a little.
SECOND_TEMPERATURE = 0.3
BUDGET_FACTOR = 2
# Codes of answers that another seed may mend; a cut one gets a larger budget instead.
CHANCE = {
    *("degenerate_output", "repetition", "refusal", "empty_answer", "invalid_json"),
    *("schema_violation", "box_invalid", "contradiction", "answer_aborted"),
}


@dataclass
class Tries:
    """All answers to one question; kept outside, so that an error row has its cost too."""

    answers: list[Answer] = field(default_factory=list)
    is_answered: bool = False

    def usage(self) -> Usage | None:
        """Tokens of all tries; wasted are those of all but a good last one."""
        if not self.answers:
            return None
        wasted = self.answers[: -1 if self.is_answered else None]
        return Usage(
            prompt_tokens=sum(each.prompt_tokens for each in self.answers),
            image_tokens=sum(each.image_tokens for each in self.answers),
            output_tokens=sum(each.output_tokens for each in self.answers),
            wasted_tokens=sum(each.prompt_tokens + each.output_tokens for each in wasted),
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """A checked answer, boxes in pixels of the original pictures."""

    output: Any
    boxes: Boxes | None
    confidence: dict[str, float] | None


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks the question of one order; `busy` notes when the engine has it."""

    engine: Engine
    family: Family
    order: Order
    busy: Busy = field(default_factory=Busy)

    @property
    def spelled(self) -> AnswerFormat:
        """The order's format, else the model family's own."""
        return self.order.answer_format or self.family.answers

    async def ask(
        self, name: str, pictures: Sequence[Prepared], fields: dict[str, Any], tries: Tries
    ) -> Outcome:
        """The checked answer; `AskError` when it can't be asked, `CheckError` when it is wrong.

        name   of the request: no other one may have it
        """
        question = self.question(name, pictures, fields)
        facts = [each.facts for each in pictures]
        try:
            return await self._try(question, facts, tries)
        except CheckError as error:
            second = self._second(question, error, tries)
            if second is None:
                raise
        return await self._try(second, facts, tries)

    def question(self, name: str, pictures: Sequence[Prepared], fields: dict[str, Any]) -> Question:
        """The question of the order about these pictures, within what the model takes."""
        prompt = filled_in(self.order.prompt, self.order.prompt_fields, fields)
        sampling, images = self.order.sampling, [each.image for each in pictures]
        room = self._room(prompt, pictures)
        return Question(
            request_id=name,
            image=images[0],
            others=tuple(images[1:]),
            prompt=prompt,
            answer_schema=bounded(self.order.answer_schema, self.order.box_field, self.family),
            spelled=self.spelled,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            max_tokens=sampling.max_tokens if room is None else min(sampling.max_tokens, room),
            seed=sampling.seed,
            probabilities=self.order.confidence,
        )

    def _room(self, prompt: str, pictures: Sequence[Prepared]) -> int | None:
        """Tokens that are left for the answer; `AskError` `prompt_too_long` when there are none."""
        limit = self.engine.context
        if limit is None:
            return None
        text = self.engine.text_tokens(prompt, len(pictures))
        seen = sum(
            self.family.tokens(each.facts.model_width, each.facts.model_height) for each in pictures
        )
        if text + seen >= limit:
            raise AskError(
                "prompt_too_long",
                f"{text} tokens of text and {seen} of pictures; the model takes {limit} with the "
                "answer: lower image.tokens, or shorten the prompt",
                tokens=text + seen,
                limit=limit,
            )
        return limit - text - seen

    async def _try(self, question: Question, facts: Sequence[ImageFacts], tries: Tries) -> Outcome:
        answer = await self.put(question)
        tries.answers.append(answer)
        outcome = self.check(answer, facts)
        tries.is_answered = True
        return outcome

    async def put(self, question: Question) -> Answer:
        """The raw answer to just this question; `AskError` when the engine does not take it."""
        with self.busy.asking():
            return await put(self.engine, question)

    def check(self, answer: Answer, facts: Sequence[ImageFacts]) -> Outcome:
        """The outcome of a raw answer; `CheckError` when it is wrong."""
        order, fenced = self.order, self.spelled.fenced
        output = check_answer(answer.text, answer.finish_reason, order.answer_schema, fenced)
        try:
            for name in order.checks:
                TASK_CHECKS[name](output)
            boxes = BoxMap(order.box_field or "", facts, self.family)
            mapped = output if order.box_field is None else boxes.of(output)
        except CheckError as error:
            raise CheckError(error.code, str(error), answer.text) from error
        return Outcome(mapped, boxes.boxes(), self._confidence(answer))

    def _confidence(self, answer: Answer) -> dict[str, float] | None:
        if not self.order.confidence or not answer.ends:
            return None
        begins = answer.text.find("\n") + 1 if self.spelled.fenced else 0
        return confidence(answer, begins, self.order.answer_schema)

    def _second(self, first: Question, error: CheckError, tries: Tries) -> Question | None:
        """Another try that may do better; None when none can, or none is wanted."""
        if not self.order.retry:
            return None
        again = replace(first, request_id=f"{first.request_id}/2")
        if error.code in CHANCE:
            warmer = max(first.temperature, SECOND_TEMPERATURE)
            return replace(again, seed=first.seed + 1, temperature=warmer)
        if error.code != "truncated_output":
            return None
        budget = first.max_tokens * BUDGET_FACTOR
        if self.engine.context is not None:
            budget = min(budget, self.engine.context - tries.answers[-1].prompt_tokens)
        return replace(again, max_tokens=budget) if budget > first.max_tokens else None


async def put(engine: Engine, question: Question) -> Answer:
    """The raw answer to just this question; `AskError` when the engine does not take it."""
    try:
        answer = await engine.ask(question)
    except EngineDead:
        raise  # the machinery's trouble, not this question's
    except EngineKilled as error:
        raise AskError("engine_killed", str(error)) from error
    except QuestionRefused as error:
        raise AskError("question_refused", str(error)) from error
    except ValueError as error:  # unforeseen: others were asked beside it and are not hurt
        said = " ".join(str(error).split())
        raise AskError("question_refused", f"{type(error).__name__}: {said}") from error
    if answer.request_id != question.request_id:
        raise EngineDead(f"asked {question.request_id}, answered {answer.request_id}")
    return answer


def filled_in(prompt: str, names: Sequence[str], fields: dict[str, Any]) -> str:
    """The prompt with its fields from the index; `AskError` `field_missing` when one is not there.

    Each placeholder once, so that braces in a field's text stay text.
    """
    missing = [name for name in names if name not in fields]
    if missing:
        there = ", ".join(fields) or "none"
        raise AskError("field_missing", f"no field {missing[0]!r} in the index; there: {there}")
    return BRACES.sub(lambda found: _part(found, fields), prompt)


def _part(found: re.Match[str], fields: dict[str, Any]) -> str:
    if found["escaped"]:
        return f"{{{found['escaped']}}}"
    value = fields.get(found["name"], found[0])
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
