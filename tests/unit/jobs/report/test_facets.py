"""What can be filtered by is read from the schema; boxes are found wherever they stand."""

import pytest

from jobs.report.facets import MOST_FACETS, boxes, facets
from jobs.tasks.inspection import inspection


def test_an_inspection_is_filtered_by_verdict_and_kind():
    assert facets(inspection(severity=True).schema) == [
        ("verdict",),
        ("defects", "kind"),
        ("defects", "severity"),
    ]


def test_choices_are_found_behind_references_and_alternatives():
    schema = {
        "$defs": {"kind": {"enum": ["a", "b"]}},
        "properties": {
            "of": {"anyOf": [{"type": "null"}, {"properties": {"kind": {"$ref": "#/$defs/kind"}}}]},
            "sold": {"type": "boolean"},
            "free": {"type": "string"},
        },
    }
    assert facets(schema) == [("sold",), ("of", "kind")]


def test_a_schema_that_refers_to_itself_comes_to_an_end():
    node = {"properties": {"kind": {"enum": ["x"]}, "inner": {"$ref": "#"}}}
    assert facets(node)[0] == ("kind",)
    assert len(facets(node)) <= MOST_FACETS


@pytest.mark.parametrize("schema", [{}, {"properties": None}, {"properties": {"a": True}}])
def test_a_schema_without_choices_has_no_facets(schema):
    assert facets(schema) == []


def test_boxes_carry_the_text_and_the_picture_beside_them():
    output = {
        "defects": [
            {"kind": "dent", "bbox": [1, 2, 3.5, 4], "picture": 2},
            {"bbox": [5, 6, 7, 8], "sure": True},
        ]
    }
    assert boxes(output, "bbox") == [(1, 2, 3.5, 4, "dent", 2), (5, 6, 7, 8, "bbox", 1)]


@pytest.mark.parametrize(
    "value", [None, "1,2,3,4", [1, 2, 3], [1, 2, 3, "4"], [True, 1, 2, 3], {"x": 1}]
)
def test_what_is_no_box_is_not_drawn(value):
    assert boxes({"bbox": value}, "bbox") == []


def test_without_a_box_field_nothing_is_a_box():
    assert boxes({"bbox": [1, 2, 3, 4]}, None) == []


def test_an_answer_of_any_depth_is_looked_through_to_a_bound():
    deep = {"bbox": [1, 2, 3, 4]}
    for _ in range(5000):
        deep = {"inner": deep}
    assert boxes(deep, "bbox") == []
