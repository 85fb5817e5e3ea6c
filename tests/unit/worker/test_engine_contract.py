"""The contract of `worker.engines.base`, kept by the fake and by vLLM with the bundled model.

An engine is started once for all of these: loading a real one takes most of a minute.
"""

import asyncio
import gc
import json
import os
import warnings
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from PIL import Image

from demo.parts import draw_part
from infra.models.folder import find_model
from infra.offers import local_offer
from infra.planner.plan import make_plan
from jobs.manifest.output import FORMATS
from jobs.order import AnswerFormat
from jobs.tasks import PRESETS
from worker.confidence import confidence
from worker.engines import make_engine
from worker.engines.base import Answer, Engine, EngineOptions, Question
from worker.engines.errors import EngineDead, EngineStartFailed, QuestionRefused

TASK = PRESETS["inspection"]
NAME = "zeroshift/parts-inspector"
MODEL = find_model(NAME)
SIZE = (196, 168)  # on the bundled model's grid: 7 x 6 tokens
REAL = (pytest.mark.slow, pytest.mark.filterwarnings("ignore"))  # torch warns of itself
KINDS = [pytest.param("fake", id="fake"), pytest.param("vllm", id="vllm", marks=REAL)]


@dataclass
class Running:
    """An engine and the one event loop that it lives in."""

    engine: Engine
    loop: asyncio.Runner

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run(work)

    def ask(self, *questions: Question) -> list[Any]:
        """The answers, and errors where there was none."""

        async def all_at_once() -> list[Any]:
            asked = (self.engine.ask(question) for question in questions)
            return await asyncio.gather(*asked, return_exceptions=True)

        return list(self.wait(all_at_once()))


def make(kind: str) -> Engine:
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    settings = {**make_plan(NAME, local_offer(), replicas=1).engine, "max_num_seqs": 8}
    settings["limit_mm_per_prompt"] = {"image": 2, "video": 0}
    return make_engine(kind, EngineOptions(str(MODEL.folder), settings))


@pytest.fixture(scope="module", params=KINDS)
def running(request: pytest.FixtureRequest) -> Iterator[Running]:
    engine = make(request.param)
    with asyncio.Runner() as loop:
        loop.run(engine.start())
        yield Running(engine, loop)
        engine.stop()
    del engine
    with warnings.catch_warnings(action="ignore"):  # vLLM leaves sockets: not to other tests
        gc.collect()


def question(request_id: str, seed: int = 1, size: tuple[int, int] = SIZE, **more: Any) -> Question:
    image = draw_part(seed, *size).image if min(size) > 99 else Image.new("RGB", size)
    plain = {"prompt": TASK.prompt, "answer_schema": TASK.schema, "max_tokens": 128}
    return Question(request_id=request_id, image=image, **{**plain, **more})


def test_an_answer_is_whole_valid_and_has_the_questions_id(running):
    answer = running.ask(question("one"))[0]
    assert isinstance(answer, Answer), answer
    assert (answer.request_id, answer.finish_reason) == ("one", "stop")
    Draft202012Validator(TASK.schema).validate(json.loads(answer.text))


def test_an_answer_tells_what_it_cost(running):
    answer = running.ask(question("cost"))[0]
    assert 0 < answer.image_tokens < answer.prompt_tokens
    assert answer.output_tokens > 0
    assert answer.generate_s >= 0


def test_many_questions_at_once_are_answered_each_by_its_id(running):
    names = [f"many-{number}" for number in range(12)]
    answers = running.ask(*(question(name, seed) for seed, name in enumerate(names)))
    assert [answer.request_id for answer in answers] == names


def test_the_same_question_has_the_same_answer(running):
    first, second = running.ask(question("same-1", 5)), running.ask(question("same-2", 5))
    assert first[0].text == second[0].text


def test_another_schema_is_kept_too(running):
    schema = {
        "type": "object",
        "properties": {"grade": {"enum": ["A", "B"]}, "sure": {"type": "boolean"}},
        "required": ["grade", "sure"],
        "additionalProperties": False,
    }
    answer = running.ask(question("other", answer_schema=schema))[0]
    assert Draft202012Validator(schema).is_valid(json.loads(answer.text)), answer.text


def test_a_prompt_is_counted_as_it_is_read(running):
    tokens = running.engine.text_tokens(TASK.prompt, 1)
    answer = running.ask(question("counted"))[0]
    assert tokens == answer.prompt_tokens - answer.image_tokens


def test_an_answer_that_is_cut_says_so(running):
    answer = running.ask(question("cut", max_tokens=1))[0]
    assert (answer.finish_reason, answer.output_tokens) == ("length", 1)


def test_a_running_engine_passes_its_check(running):
    assert running.wait(running.engine.check()) is None


@pytest.mark.parametrize("kind", KINDS)
def test_an_engine_that_was_not_started_is_dead_and_can_be_stopped_twice(kind):
    engine = make(kind)
    with pytest.raises(EngineDead):
        asyncio.run(engine.check())
    engine.stop()
    engine.stop()
    with pytest.raises(EngineDead):
        asyncio.run(engine.check())


def test_an_engine_that_there_is_not_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match="no engine 'gpt'; allowed: vllm, fake"):
        make_engine("gpt", EngineOptions("m"))


vllm_alone = pytest.mark.parametrize("running", [KINDS[1]], indirect=True)


@vllm_alone
def test_a_question_too_long_is_refused_and_the_others_are_answered(running):
    long = question("long", prompt=TASK.prompt * 60)
    first, refused, third = running.ask(question("before"), long, question("after", 2))
    assert isinstance(refused, QuestionRefused), refused
    assert str(MODEL.context) in str(refused)
    assert "\n" not in str(refused)
    assert [first.finish_reason, third.finish_reason] == ["stop", "stop"]
    assert running.wait(running.engine.check()) is None


@vllm_alone
def test_a_schema_that_can_not_be_enforced_is_refused_and_the_others_are_answered(running):
    bad = question("bad", answer_schema={"type": "string", "pattern": "(?<=a)b"})
    refused, answer = running.ask(bad, question("good"))
    assert isinstance(refused, QuestionRefused), refused
    assert answer.finish_reason == "stop"


@vllm_alone
@pytest.mark.parametrize("size", [SIZE, (28 * 24, 28), (84, 476), (28, 28)])
def test_a_prepared_picture_is_seen_as_it_is_and_not_resized_again(running, size):
    answer = running.ask(question(f"size-{size}", size=size))[0]
    assert answer.image_tokens == (size[0] // 28) * (size[1] // 28)


@vllm_alone
def test_several_pictures_are_one_prompt(running):
    others = (draw_part(2, *SIZE).image,)
    answer = running.ask(question("two", others=others))[0]
    assert answer.image_tokens == 2 * (SIZE[0] // 28) * (SIZE[1] // 28)
    tokens = running.engine.text_tokens(TASK.prompt, 2)
    assert tokens == answer.prompt_tokens - answer.image_tokens


@vllm_alone
def test_the_context_is_what_the_planner_set(running):
    assert running.engine.context == MODEL.context


@vllm_alone
@pytest.mark.parametrize("form", [FORMATS["compact"], FORMATS["pretty"], AnswerFormat(fenced=True)])
def test_answers_are_spelled_as_they_are_wanted(running, form):
    text = running.ask(question(f"form-{hash(form)}", spelled=form, max_tokens=400))[0].text
    inner = text.removeprefix("```json\n").removesuffix("\n```") if form.fenced else text
    separators = (form.item_separator, form.key_separator)
    assert inner == json.dumps(json.loads(inner), separators=separators, indent=form.indent)
    assert form.fenced == text.startswith("```json")


@vllm_alone
def test_a_free_model_spells_answers_as_it_was_trained_to(running):
    forced, free = running.ask(question("forced"), question("free", answer_schema=None))
    assert forced.text == free.text


@vllm_alone
def test_the_probabilities_of_tokens_are_told_when_asked_for(running):
    answer, plain = running.ask(question("sure", probabilities=True), question("plain"))
    assert len(answer.ends) == len(answer.logprobs) == answer.output_tokens
    assert max(answer.ends) == len(answer.text)
    assert list(answer.ends) == sorted(answer.ends)
    assert all(each <= 0 for each in answer.logprobs)
    assert (plain.ends, plain.logprobs) == ((), ())
    found = confidence(answer, 0, TASK.schema)
    assert found["verdict"] > 0.3
    assert all(0 < each <= 1 for each in found.values())


@vllm_alone
def test_an_answer_in_circles_is_stopped_where_it_goes_in_circles(running):
    loop = {"type": "array", "items": {"enum": [1]}, "minItems": 600}
    answer = running.ask(question("loop", answer_schema=loop, max_tokens=900))[0]
    assert answer.finish_reason == "repetition"
    assert answer.output_tokens < 300


@vllm_alone
def test_white_space_is_kept_out_of_answers(running):
    text = running.ask(question("white"))[0].text
    assert text == json.dumps(json.loads(text))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_model_that_can_not_be_loaded_is_a_failed_start(tmp_path):
    engine = make_engine("vllm", EngineOptions(str(tmp_path)))
    with pytest.raises(EngineStartFailed) as caught:
        asyncio.run(engine.start())
    assert str(caught.value)
