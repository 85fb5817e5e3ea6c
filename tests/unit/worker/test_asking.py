"""What is asked fits the model, and a wrong answer is asked for once more where that can help."""

import json
from collections.abc import Callable

import pytest

from worker.asking import filled_in
from worker.engines.base import Answer, Question
from worker.errors import AskError

GOOD = '{"red": 1}'


def in_turn(*texts: str) -> Callable[[Question], str]:
    """A rule that answers with one text after the other, the last one for ever."""
    left = list(texts)
    return lambda question: left.pop(0) if len(left) > 1 else left[0]


def test_of_a_hundred_prompts_the_one_too_long_is_an_error_and_the_others_are_answered(
    shard, engine, picture, look
):
    fake = engine(context=60)
    shard.put([picture(1)] * 100)
    shard.give_fields(*({"what": "word " * (70 if n == 37 else 1)} for n in range(100)))
    shard.work(fake, prompt="How red? {what}", prompt_fields=("what",))
    rows = shard.rows()
    long = rows[37]
    assert [row.status for row in rows].count("ok") == 99
    assert (long.error.code, long.error.stage) == ("prompt_too_long", "ask")
    assert long.error.detail == {"tokens": 2 + 70 + 4, "limit": 60}  # 56 x 56 is 4 tokens
    assert len(fake.asked) == 99


def test_an_unforeseen_error_about_one_prompt_is_that_rows_alone(shard, engine, picture, look):
    def rule(question: Question) -> str:
        if question.image.getpixel((3, 3))[0] == 3:
            raise ValueError("prompt of 9 tokens; at most 8")
        return look(question)

    shard.put([picture(red) for red in range(9)])
    shard.work(engine(rule))
    codes = [row.error and row.error.code for row in shard.rows()]
    assert codes == [None] * 3 + ["question_refused"] + [None] * 5
    assert "9 tokens" in shard.rows()[3].error.message


def test_an_answer_never_has_more_tokens_than_the_context_leaves(shard, engine, picture):
    fake = engine(context=50)
    shard.put([picture(1)])
    shard.work(fake)
    assert fake.questions[0].max_tokens == 50 - 2 - 4


def test_a_cut_answer_is_asked_again_with_a_larger_budget(shard, engine, picture):
    long = json.dumps({"red": 1, "note": "ab" * 60})
    fake = engine(lambda question: long)
    shard.put([picture(1)])
    shard.work(fake)
    row = shard.rows()[0]
    assert (row.status, row.output["red"]) == ("ok", 1)
    assert [question.max_tokens for question in fake.questions] == [99, 198]
    assert row.usage.wasted_tokens == 99 + 3
    assert row.usage.output_tokens == 99 + len(long)


@pytest.mark.parametrize("text", ['{"label": "ca', "}" * 99])
def test_what_stays_cut_is_an_error_with_its_raw_text_and_its_waste(shard, engine, picture, text):
    def cut(question: Question) -> Answer:
        return Answer(question.request_id, text, "length", 10, 4, 20, 0.0, 0.0)

    shard.put([picture(1)])
    shard.work(engine(cut))
    row = shard.rows()[0]
    assert (row.error.code, row.error.raw) == ("truncated_output", text)
    assert row.usage.wasted_tokens == 2 * (10 + 20)


def test_a_wrong_answer_is_asked_again_with_another_seed_and_a_little_heat(shard, engine, picture):
    fake = engine(in_turn('{"red": "very"}', GOOD))
    shard.put([picture(1)])
    shard.work(fake)
    first, second = fake.questions
    assert shard.rows()[0].status == "ok"
    assert (first.seed, first.temperature) == (0, 0)
    assert second.seed == 1
    assert second.temperature > 0
    assert len(set(fake.asked)) == 2


def test_an_answer_is_asked_for_no_more_than_twice(shard, engine, picture):
    fake = engine(lambda question: "no")
    shard.put([picture(1)])
    shard.work(fake)
    assert len(fake.asked) == 2
    assert shard.rows()[0].error.code == "invalid_json"


def test_nothing_is_asked_again_when_the_manifest_does_not_want_it(shard, engine, picture):
    fake = engine(in_turn("no", GOOD))
    shard.put([picture(1)])
    shard.work(fake, retry=False)
    assert len(fake.asked) == 1
    assert shard.rows()[0].usage.wasted_tokens == shard.rows()[0].usage.prompt_tokens + 2


def test_a_good_answer_wastes_nothing(shard, engine, picture):
    shard.put([picture(1)])
    shard.work(engine())
    assert shard.rows()[0].usage.wasted_tokens == 0


def test_a_field_of_the_index_is_put_into_the_prompt_and_into_the_row(shard, engine, picture):
    fake = engine()
    shard.put([picture(1), picture(2)])
    shard.give_fields({"part": "bolt"}, {"part": "{part}"})
    shard.work(fake, prompt="Is this a {part}?", prompt_fields=("part",))
    prompts = {question.prompt for question in fake.questions}
    assert prompts == {"Is this a bolt?", "Is this a {part}?"}
    assert shard.rows()[0].fields == {"part": "bolt"}


def test_a_field_that_is_missing_is_that_rows_error(shard, engine, picture):
    shard.put([picture(1), picture(2)])
    shard.give_fields({"part": "bolt"}, {"prat": "nut"})
    shard.work(engine(), prompt="Is this a {part}?", prompt_fields=("part",))
    first, second = shard.rows()
    assert first.status == "ok"
    assert (second.error.code, second.error.stage) == ("field_missing", "ask")
    assert "prat" in second.error.message


def test_braces_that_are_no_field_stay_as_they_are():
    prompt = 'Answer {"a": 1} or {{b}} about {c}'
    assert filled_in(prompt, ("c",), {"c": 3}) == 'Answer {"a": 1} or {b} about 3'
    with pytest.raises(AskError, match="no field 'c'"):
        filled_in(prompt, ("c",), {})


def test_an_answer_to_another_question_is_never_taken(shard, engine, picture):
    def crossed(question: Question) -> Answer:
        return Answer("another", GOOD, "stop", 1, 1, 1, 0.0, 0.0)

    shard.put([picture(1)])
    with pytest.raises(Exception, match="answered another"):
        shard.work(engine(crossed))


def test_the_same_prompt_about_red_and_blue_has_each_its_own_answer(shard, engine, picture):
    shard.put([picture(250), picture(3)] * 8)
    shard.work(engine())
    assert [row.output["red"] for row in shard.rows()] == [250, 3] * 8


def test_an_image_budget_picks_the_size_of_each_picture(shard, engine, picture):
    fake = engine()
    shard.put([picture(1, (560, 560)), picture(2, (28, 28))])
    shard.work(fake, image_tokens=2)
    sizes = [question.image.size for question in fake.questions]
    assert all(width * height <= 2 * 28 * 28 for width, height in sizes)
