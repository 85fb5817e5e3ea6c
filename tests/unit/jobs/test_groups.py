"""Pictures of one group are one input, in the order in which they were pinned."""

import pytest

from jobs.inputs.groups import grouped
from jobs.manifest.manifest import Inputs
from jobs.order import PinnedInput


def pins(*keys: str, **fields: list) -> list[PinnedInput]:
    return [
        PinnedInput(
            address=f"s3://b/{key}",
            etag=f"e{number}",
            size=1,
            fields={name: values[number] for name, values in fields.items() if values[number]},
        )
        for number, key in enumerate(keys)
    ]


def groups(pinned: list[PinnedInput], **inputs: object) -> dict[str | None, list[str]]:
    found = list(grouped(pinned, Inputs.model_validate({"index": "s3://b/i.jsonl", **inputs})))
    return {
        each.group: [one.address.removeprefix("s3://b/") for one in each.objects] for each in found
    }


def test_without_groups_each_picture_is_on_its_own():
    found = list(grouped(pins("a", "b"), Inputs(prefix="s3://b/")))
    assert [(each.group, each.others, each.fault) for each in found] == [(None, (), None)] * 2


def test_a_folder_is_a_group():
    pinned = pins("in/1/a.png", "in/1/b.png", "in/2/a.png")
    assert groups(pinned, group_by="folder") == {
        "in/1": ["in/1/a.png", "in/1/b.png"],
        "in/2": ["in/2/a.png"],
    }


def test_a_pattern_groups_by_what_stands_in_its_parentheses():
    pinned = pins("p1_before.png", "p2_before.png", "p1_after.png")
    found = groups(pinned, group_by={"pattern": r"(p\d+)_"})
    assert found == {"p1": ["p1_before.png", "p1_after.png"], "p2": ["p2_before.png"]}


def test_a_field_of_the_index_groups_whatever_its_type():
    pinned = pins("a", "b", "c", part=[7, 8, 7])
    assert groups(pinned, group_by={"field": "part"}) == {"7": ["a", "c"], "8": ["b"]}


def test_the_fields_of_a_group_are_those_of_all_its_pictures_the_first_ones_first():
    pinned = pins("a", "b", part=[7, 7], view=["top", "side"], light=[None, "dim"])
    inputs = Inputs.model_validate({"index": "s3://b/i.jsonl", "group_by": {"field": "part"}})
    [one] = list(grouped(pinned, inputs))
    assert one.fields == {"part": 7, "view": "top", "light": "dim"}


@pytest.mark.parametrize("group_by", [{"pattern": r"(p\d+)_"}, {"field": "part"}])
def test_a_picture_of_no_group_is_an_error_of_its_own(group_by):
    pinned = pins("p1_a", "odd", "other", part=["p1", None, None])
    inputs = Inputs.model_validate({"index": "s3://b/i.jsonl", "group_by": group_by})
    found = list(grouped(pinned, inputs))
    assert [each.fault and each.fault.code for each in found] == [None, *["group_unknown"] * 2]


def test_a_group_too_large_is_an_error_that_says_how_large():
    pinned = pins(*(f"in/{number}" for number in range(4)))
    inputs = Inputs.model_validate(
        {"prefix": "s3://b/in/", "group_by": "folder", "max_pictures": 3}
    )
    [one] = list(grouped(pinned, inputs))
    assert one.fault is not None
    assert one.fault.code == "group_too_large"
    assert "4 pictures in one prompt; allowed: up to 3" in one.fault.message
