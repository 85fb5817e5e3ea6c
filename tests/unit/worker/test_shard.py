"""One shard with a fake engine on a real store: every input ends in exactly one row."""

import pytest

from jobs.addresses import Address
from worker.engines.base import Question
from worker.engines.errors import QuestionRefused


def test_each_input_has_exactly_one_row_in_the_order_of_the_inputs(shard, engine, picture):
    shard.put([picture(red) for red in range(0, 250, 10)])
    marker = shard.work(engine())
    rows = shard.rows()
    assert [row.key for row in rows] == [f"s3://{shard.bucket}/in/{n:03d}.png" for n in range(25)]
    assert [row.output["red"] for row in rows] == list(range(0, 250, 10))
    assert (marker.rows, marker.errors) == (25, 0)


def test_a_row_tells_version_attempt_sizes_tokens_and_times(shard, look, engine, picture):
    shard.put([picture(9, (112, 56))])
    shard.work(engine())
    row = shard.rows()[0]
    assert row.version == shard.store.look(Address.parse(row.key)).etag
    assert (row.attempt, row.status, row.error, row.cost_usd) == (3, "ok", None, None)
    assert (row.image.width, row.image.height) == (112, 56)
    assert (row.usage.image_tokens, row.usage.prompt_tokens) == (1, 3)
    assert row.timing.fetch_s > 0


def test_bad_pictures_are_rows_of_their_own_and_do_not_hurt_their_siblings(shard, engine, picture):
    shard.put([picture(1), b"", picture(3), b"no picture", picture(5)[:70], picture(6)])
    marker = shard.work(engine())
    rows = shard.rows()
    codes = [row.error.code if row.error else row.output["red"] for row in rows]
    assert codes == [1, "empty_object", 3, "not_an_image", "image_truncated", 6]
    assert (marker.rows, marker.errors) == (6, 3)
    assert all(row.image is None and row.usage is None for row in rows if row.error)


def test_an_input_that_is_gone_is_a_row_of_its_own(shard, engine, picture):
    shard.put([picture(1), picture(2)])
    shard.store.delete(Address(shard.bucket, "in/000.png"))
    shard.work(engine())
    gone, there = shard.rows()
    assert (gone.error.code, gone.error.stage) == ("object_gone", "fetch")
    assert there.output == {"red": 2}


def test_a_refused_question_is_that_rows_error_and_the_others_are_answered(
    shard, look, engine, picture
):
    def rule(question: Question) -> str:
        if question.image.getpixel((3, 3))[0] == 2:
            raise QuestionRefused("1500 tokens; the model takes 1024")
        return look(question)

    shard.put([picture(1), picture(2), picture(3)])
    shard.work(engine(rule))
    first, refused, third = shard.rows()
    assert (refused.error.code, refused.error.stage) == ("question_refused", "ask")
    assert "1500 tokens" in refused.error.message
    assert refused.image is not None
    assert (first.output, third.output) == ({"red": 1}, {"red": 3})


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"red": "very"}', "schema_violation"),
        ('{"red": 1', "invalid_json"),
        ("x" * 200, "truncated_output"),
        ("", "empty_answer"),
        ('{"red":' + " " * 90, "degenerate_output"),
        ("[" * 45 + "]" * 45, "schema_violation"),
        ('{"red": 1, "bbox": [1, 2, 3]}', "box_invalid"),
        ('{"red": "\\ud800", "\\udfff": 0}', "schema_violation"),
    ],
)
def test_a_wrong_answer_is_a_row_that_keeps_what_it_cost(shard, engine, picture, text, code):
    shard.put([picture(1)])
    marker = shard.work(engine(lambda question: text), box_field="bbox")
    row = shard.rows()[0]
    assert (row.error.code, row.error.stage, row.output) == (code, "check", None)
    assert row.usage is not None
    assert marker.errors == 1


@pytest.mark.parametrize("value", ["\\ud800", "\\u2028 \\u0085", "é \\u0000"])
def test_any_text_that_a_model_may_write_is_one_row(shard, engine, picture, value):
    shard.put([picture(1), picture(2)])
    shard.work(engine(lambda question: f'{{"text": "{value}"}}'), answer_schema={})
    assert [row.status for row in shard.rows()] == ["ok", "ok"]


def test_a_number_too_large_for_most_is_one_row_too(shard, engine, picture):
    shard.put([picture(1)])
    shard.work(engine(lambda question: "1" + "0" * 90), answer_schema={})
    assert len(shard.rows()) == 1


def test_boxes_in_the_rows_are_in_pixels_of_the_original(shard, engine, picture):
    shard.put([picture(1, (560, 1120))])
    answer = '{"red": 1, "bbox": [0, 0, 28, 56]}'
    shard.work(engine(lambda question: answer), box_field="bbox")
    row = shard.rows()[0]
    seen = (row.image.model_width, row.image.model_height)
    assert row.output["bbox"] == [0, 0, 28 * 560 // seen[0], 56 * 1120 // seen[1]]
