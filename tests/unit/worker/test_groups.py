"""Several pictures in one prompt: one row, all of them there or none."""

import json

from worker.engines.base import Question

BOX = {
    "type": "object",
    "properties": {"picture": {"type": "integer"}, "bbox": {"type": "array"}},
    "required": ["bbox"],
}


def reds(question: Question) -> str:
    return json.dumps({"red": [image.getpixel((3, 3))[0] for image in question.images]})


def test_a_group_is_one_row_with_its_pictures_in_their_order(shard, engine, picture):
    shard.put([picture(5), picture(6), picture(7)])
    shard.put_together("002", "000", group="part-4", fields={"line": 4})
    shard.work(engine(reds), answer_schema={}, max_pictures=2)
    [row] = shard.rows()
    assert row.output == {"red": [7, 5]}
    assert (row.group, row.fields) == ("part-4", {"line": 4})
    assert [key[-7:] for key in row.keys] == ["002.png", "000.png"]
    assert row.key == row.keys[0]
    assert len(row.images) == 2
    assert row.usage.image_tokens == 2


def test_a_group_with_a_broken_picture_is_one_error(shard, engine, picture):
    shard.put([picture(5), b"no picture"])
    shard.put_together("000", "001", group="g")
    marker = shard.work(engine(reds), answer_schema={}, max_pictures=2)
    [row] = shard.rows()
    assert (row.error.code, row.group, marker.errors) == ("not_an_image", "g", 1)


def test_an_input_that_is_known_to_be_at_fault_is_never_fetched(shard, engine, picture):
    shard.put([picture(5), picture(6)])
    fault = {"code": "group_too_large", "message": "9 pictures in one prompt; allowed: up to 8"}
    shard.put_together("000", "001", group="g", fault=fault)
    fake = engine(reds)
    shard.work(fake)
    [row] = shard.rows()
    assert (row.error.code, row.error.stage, row.timing.fetch_s) == ("group_too_large", "pin", 0)
    assert fake.asked == []


def test_a_box_of_a_group_is_in_pixels_of_the_picture_that_it_names(shard, engine, picture):
    shard.put([picture(1, (112, 112)), picture(2, (560, 560))])
    shard.put_together("000", "001", group="g")
    answer = json.dumps({"picture": 2, "bbox": [0, 0, 56, 28]})
    shard.work(engine(lambda question: answer), answer_schema=BOX, box_field="bbox", max_pictures=2)
    [row] = shard.rows()
    assert row.output["bbox"] == [0, 0, 560, 280]
    assert row.boxes.raw == {"bbox": (0, 0, 56, 28)}


def test_a_box_of_a_group_without_its_picture_is_an_error_and_no_guess(shard, engine, picture):
    shard.put([picture(1), picture(2)])
    shard.put_together("000", "001", group="g")
    answer = json.dumps({"bbox": [0, 0, 56, 28]})
    shard.work(engine(lambda question: answer), answer_schema=BOX, box_field="bbox", max_pictures=2)
    [row] = shard.rows()
    assert row.error.code == "box_invalid"
    assert "picture is None; allowed: 1 to 2" in row.error.message


def test_the_raw_box_its_space_and_the_size_that_was_seen_are_kept(shard, engine, picture):
    shard.put([picture(1, (560, 1120))])
    answer = '{"red": 1, "bbox": [0, 0, 28, 56]}'
    shard.work(engine(lambda question: answer), box_field="bbox")
    [row] = shard.rows()
    assert (row.boxes.space, row.boxes.raw) == ("model_pixels", {"bbox": (0, 0, 28, 56)})
    assert row.image.model_width < row.image.width
