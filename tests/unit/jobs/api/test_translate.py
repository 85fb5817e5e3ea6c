"""A body becomes a question of ours, or an error that names what can't be asked."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.api.body_checks import NEUTRAL, BodyError
from jobs.api.image_parts import Inline, Remote, Stored
from jobs.api.translate import MOST_PICTURES, Asked, manifest_of, translate
from jobs.manifest.manifest import parse_manifest

SCHEMA = {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "number"}}}
FORMAT = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": SCHEMA}}
DATA = "data:image/png;base64,AAAA"


def image(url: str = DATA, **more: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, **more}}


def body(*parts: Any, **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": "What is it?"}, *(parts or (image(),))]
    return {"model": "m", "messages": [{"role": "user", "content": content}], **more}


def asked(*parts: Any, **more: Any) -> Asked:
    return translate(body(*parts, **more), ["m"])


def refused(document: dict[str, Any]) -> BodyError:
    with pytest.raises(BodyError) as caught:
        translate(document, ["m"])
    return caught.value


def test_a_picture_and_a_text_become_a_prompt_and_a_picture():
    found = asked()
    assert (found.prompt, found.pictures) == ("What is it?", (Inline(b"\0\0\0"),))


def test_pictures_may_come_with_the_request_from_a_bucket_or_from_the_web():
    found = asked(image(), image("s3://b/k.png"), image("https://h/k.png"))
    assert [type(each) for each in found.pictures] == [Inline, Stored, Remote]
    assert found.shape.many


def test_system_texts_stand_before_the_users():
    document = body()
    document["messages"].insert(0, {"role": "system", "content": "Be brief."})
    assert translate(document, ["m"]).prompt == "Be brief.\n\nWhat is it?"


def test_the_schema_of_an_answer_is_the_requests_with_its_order_of_keys():
    shape = asked(response_format=FORMAT).shape
    assert list(shape.schema["properties"]) == ["b", "a"]
    assert shape.reply == "json"


@pytest.mark.parametrize(
    ("wanted", "reply", "schema"),
    [
        (None, "text", {"type": "string"}),
        ({"type": "text"}, "text", {"type": "string"}),
        ({"type": "json_object"}, "json", {"type": "object"}),
    ],
)
def test_without_a_schema_an_answer_is_a_text_or_any_object(wanted, reply, schema):
    shape = asked(response_format=wanted).shape
    assert (shape.reply, shape.schema) == (reply, schema)
    assert dict(shape.sampling) == {"max_tokens": 1024}


def test_sampling_is_taken_over_and_the_newer_name_of_max_tokens_counts():
    more = {"temperature": 0.5, "top_p": 0.9, "seed": 7, "max_tokens": 5}
    shape = asked(response_format=FORMAT, max_completion_tokens=9, **more).shape
    assert dict(shape.sampling) == {"temperature": 0.5, "top_p": 0.9, "seed": 7, "max_tokens": 9}


@pytest.mark.parametrize(
    ("more", "param", "code"),
    [
        ({"tools": [{"type": "function"}]}, "tools", "unsupported_value"),
        ({"n": 2}, "n", "unsupported_value"),
        ({"stream": True}, "stream", "unsupported_value"),
        ({"logprobs": True}, "logprobs", "unsupported_value"),
        ({"modalities": ["text", "audio"]}, "modalities", "unsupported_value"),
        ({"audio": {"voice": "x"}}, "audio", "unsupported_parameter"),
        ({"reasoning_effort": "low"}, "reasoning_effort", "unsupported_parameter"),
        ({"temperature": 3}, "temperature", "invalid_value"),
        ({"temperature": True}, "temperature", "invalid_value"),
        ({"max_tokens": 0}, "max_tokens", "invalid_value"),
        ({"seed": -1}, "seed", "invalid_value"),
        ({"model": "other"}, "model", "model_not_found"),
        ({"model": None}, "model", "missing_required_parameter"),
        ({"messages": []}, "messages", "invalid_value"),
        ({"response_format": {"type": "xml"}}, "response_format.type", "unsupported_value"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": 3}}}},
            "response_format.json_schema.schema",
            "invalid_value",
        ),
    ],
)
def test_what_can_not_be_asked_is_named(more, param, code):
    error = refused({**body(), **more})
    assert (error.param, error.code) == (param, code)


@pytest.mark.parametrize(
    ("part", "param"),
    [
        ({"type": "input_audio"}, "messages[0].content[1].type"),
        ({"type": "image_url"}, "messages[0].content[1].image_url"),
        (image("http://h/k.png"), "messages[0].content[1].image_url.url"),
        (image("file:///etc/passwd"), "messages[0].content[1].image_url.url"),
        (image("data:text/html;base64,AAAA"), "messages[0].content[1].image_url.url"),
        (image("data:image/png;base64,&&&"), "messages[0].content[1].image_url.url"),
        (image("data:image/png;base64,"), "messages[0].content[1].image_url.url"),
        (image("s3://b/zeroshift/keys/k.json"), "messages[0].content[1].image_url.url"),
        (image("s3://b/"), "messages[0].content[1].image_url.url"),
        (image(detail="huge"), "messages[0].content[1].image_url.detail"),
    ],
)
def test_a_part_that_is_no_picture_is_named_by_its_place(part, param):
    assert refused(body(part)).param == param


def test_a_request_without_a_picture_is_refused():
    document = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
    assert "image_url" in str(refused(document))


def test_a_request_without_a_text_is_refused():
    document = {"model": "m", "messages": [{"role": "user", "content": [image()]}]}
    assert "text" in str(refused(document))


def test_a_conversation_is_refused():
    document = body()
    document["messages"].append({"role": "assistant", "content": "No."})
    assert refused(document).param == "messages[1].role"
    document["messages"][1] = {"role": "user", "content": "And now?"}
    assert refused(document).param == "messages"


def test_pictures_of_different_detail_are_refused():
    assert "high, low" in str(refused(body(image(detail="low"), image(detail="high"))))


def test_too_many_pictures_are_refused():
    assert str(MOST_PICTURES) in str(refused(body(*[image()] * (MOST_PICTURES + 1))))


@pytest.mark.parametrize("name", NEUTRAL)
def test_a_parameter_that_asks_for_nothing_changes_nothing(name):
    for value in (*NEUTRAL[name], None):
        assert asked(**{name: value}) == asked()


def test_the_manifest_of_a_shape_is_valid_and_takes_the_prompt_from_the_index():
    shape = asked(image(detail="low"), image(detail="low"), response_format=FORMAT, seed=3).shape
    plain = manifest_of(shape, "batch-1", "s3://b/x.jsonl", "s3://b/out/", "local")
    manifest = parse_manifest(json.dumps(plain), "m")
    assert manifest.pictures_per_prompt == MOST_PICTURES
    assert manifest.image.detail == "low"
    assert manifest.sampling.seed == 3
    assert manifest.task.prompt == "{prompt}"


TEXT = st.text("ab_{}\u2028\ud800", max_size=6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["model", "messages", "response_format", "n", "seed", "max_tokens", "x"])


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(NAMES, JSON))
def test_whatever_a_body_holds_it_is_asked_or_refused(more):
    try:
        said = translate({**body(), **more}, ["m"]).prompt
    except BodyError as error:
        said = str(error)
    assert said
