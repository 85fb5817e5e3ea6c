"""A schema is judged before anything is paid for: what is refused, ignored, or has no end."""

import json
from itertools import pairwise

import pytest

from jobs.schema.lint import lint
from jobs.schema.worst_case import LONGEST, default_max_tokens, worst_case
from jobs.tasks import PRESETS


def of(**properties: dict) -> dict:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


# schema of a property x, the keyword at fault
IGNORED = [
    ({"type": "array", "items": {"type": "boolean"}, "uniqueItems": True}, "uniqueItems"),
    ({"type": "string", "pattern": "^a+$", "maxLength": 3}, "maxLength"),
    ({"type": "string", "format": "uri", "maxLength": 9}, "maxLength"),
    ({"type": "string", "format": "postcode"}, "format"),
    ({"oneOf": [{"type": "integer"}, {"type": "null"}]}, "oneOf"),
    ({"type": "boolean", "not": {"const": True}}, "not"),
    ({"allOf": [{"type": "integer"}, {"minimum": 3}]}, "allOf"),
]


@pytest.mark.parametrize(("node", "keyword"), IGNORED)
def test_a_keyword_that_is_not_forced_is_named_with_its_path(node, keyword):
    found = [
        (each.path, each.keyword) for each in lint(of(x=node), False) if each.kind == "ignored"
    ]
    assert found == [("$.properties.x", keyword)]


@pytest.mark.parametrize(
    "node",
    [
        {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 4},
        {"type": "string", "maxLength": 5},
        {"type": "string", "format": "uri"},
        {"type": "integer", "minimum": 0, "maximum": 9},
        {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        {"enum": ["a", 1, None]},
    ],
)
def test_what_is_forced_and_ends_is_fine(node):
    assert lint(of(x=node), compiler=False) == []


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_fine(name):
    assert lint(PRESETS[name].schema, compiler=False) == []


def test_a_reference_out_of_the_schema_is_refused():
    [found] = [e for e in lint(of(x={"$ref": "http://x/y"}), False) if e.kind == "refused"]
    assert (found.path, found.keyword) == ("$.properties.x", "$ref")


ENDLESS = [
    ({"type": "string"}, "$.properties.x", "maxLength"),
    ({"type": "array", "items": {"type": "boolean"}}, "$.properties.x", "maxItems"),
    ({"type": "integer"}, "$.properties.x", "minimum and maximum"),
    ({"type": "integer", "minimum": 0}, "$.properties.x", "maximum"),
    ({"type": "object"}, "$.properties.x", "properties"),
    ({}, "$.properties.x", "type"),
    (
        {"type": "array", "maxItems": 2, "items": {"type": "string"}},
        "$.properties.x.items",
        "maxLength",
    ),
]


@pytest.mark.parametrize(("node", "path", "missing"), ENDLESS)
def test_what_has_no_end_is_named_with_what_is_missing(node, path, missing):
    found = [each for each in lint(of(x=node), compiler=False) if each.kind == "unbounded"]
    assert [(each.path, each.keyword) for each in found] == [(path, missing)]


def test_a_schema_that_contains_itself_has_no_end_and_is_walked_once():
    tree = {"$defs": {"n": {"type": "array", "items": {"$ref": "#/$defs/n"}, "maxItems": 2}}}
    found = worst_case({**tree, "$ref": "#/$defs/n"})
    assert found.unbounded == [("$.items", "an end to its recursion")]


@pytest.mark.parametrize("name", PRESETS)
def test_the_longest_answer_of_a_preset_is_within_its_max_tokens(name):
    schema = PRESETS[name].schema
    assert not worst_case(schema).unbounded
    assert default_max_tokens(schema) == min(LONGEST, worst_case(schema).tokens + 1)


def test_the_worst_case_is_no_less_than_the_longest_answer():
    box = {"kind": "scratch", "bbox": [16384] * 4}
    longest = json.dumps({"verdict": "defective", "defects": [box] * 8})
    assert worst_case(PRESETS["inspection"].schema).tokens >= len(longest)


@pytest.mark.slow  # xgrammar imports torch
class TestCompiler:
    """The compiler of the engine's grammars, in a process of its own."""

    @pytest.fixture(autouse=True)
    def _there(self):
        pytest.importorskip("xgrammar")

    def test_what_can_not_be_compiled_is_refused_with_path_keyword_and_reason(self):
        found = lint(of(x=of(y={"type": "string", "pattern": "(?<=a)b"})))
        [refused] = [each for each in found if each.kind == "refused"]
        assert (refused.path, refused.keyword) == ("$.properties.x.properties.y", "pattern")
        assert "Lookbehind" in refused.text

    def test_presets_compile(self):
        schemas = {name: task.schema for name, task in PRESETS.items()}
        assert lint(of(**schemas)) == []

    def test_the_table_knows_all_that_the_compiler_ignores(self, monkeypatch):
        nodes = [node for node, _ in IGNORED]
        nodes += [{"type": "string", "maxLength": 5}, {"type": "number", "multipleOf": 0.5}]
        schema = of(**{f"x{number}": node for number, node in enumerate(nodes)})
        both = {(each.path, each.keyword) for each in lint(schema)}
        assert both == {(each.path, each.keyword) for each in lint(schema, compiler=False)}
        monkeypatch.setattr("jobs.schema.lint._by_table", lambda schema: ())
        shown = {each.keyword for each in lint(schema) if each.kind == "ignored"}
        assert shown >= {"uniqueItems", "maxLength"}


def test_references_that_fan_out_are_followed_once_each():
    names = [f"d{number}" for number in range(41)]
    inner = {
        name: of(one={"$ref": f"#/$defs/{after}"}, other={"$ref": f"#/$defs/{after}"})
        for name, after in pairwise(names)
    }
    whole = {"$defs": {**inner, "d40": {"type": "boolean"}}, "$ref": "#/$defs/d0"}
    assert worst_case(whole).tokens > 2**40
    assert default_max_tokens(whole) == LONGEST


def test_schemas_that_all_refer_to_each_other_are_walked_once():
    names = [f"d{number}" for number in range(20)]
    every = of(**{name: {"$ref": f"#/$defs/{name}"} for name in names})
    whole = {"$defs": dict.fromkeys(names, every), "$ref": "#/$defs/d0"}
    assert any("recursion" in missing for _, missing in worst_case(whole).unbounded)


def test_a_chain_of_references_without_end_is_said_to_have_none():
    links = {f"d{n}": of(next={"$ref": f"#/$defs/d{n + 1}"}) for n in range(2000)}
    whole = {"$defs": {**links, "d2000": {"type": "boolean"}}, "$ref": "#/$defs/d0"}
    assert worst_case(whole).unbounded == [("$", "an end to its nesting")]


def test_a_choice_of_nothing_is_refused_at_its_place():
    found = [each for each in lint(of(kind={"enum": []}), compiler=False) if each.kind == "refused"]
    assert [str(each) for each in found] == ["$.properties.kind: enum: no value is allowed"]
