"""Every field there is, given every wrong value there is: one line that a user understands."""

import json
import re
from collections.abc import Iterator
from datetime import date
from typing import Any, get_args, get_origin

import pytest
from pydantic import BaseModel

from jobs.errors import ManifestError, SettingsError
from jobs.manifest.manifest import Manifest, parse_manifest
from jobs.settings import settings as module
from jobs.settings.settings import Settings, load_settings

WRONG: tuple[Any, ...] = (
    *(None, True, -1, 0, 3, 1.5, 10**30),
    *("", " ", "odd value", "x" * 3000, "line\nend", "ü{"),
    *([], [None], [[]], {}, {"": 3}, {"x" * 200: "y" * 300}, date(2026, 11, 30)),
    {f"name-{number}": "value" for number in range(60)},
)
UNSPEAKABLE = 16**5000  # 0xff… of TOML can be so large that Python does not spell it
JARGON = re.compile(
    r"constrained|should |type=|input_value|[Uu]nion|function-|tagged|Decimal|valid dictionary"
    r"|literal\[|valid (string|integer|number|boolean|tuple|list)|nullable|dict\[|tuple\[|str\b"
    r"|NoneType|regex|Traceback|instance of|unable to|match pattern|Input\b"
)
Place = tuple[str | int, ...]


def kinds_in(annotation: Any) -> Iterator[Any]:
    yield annotation
    for each in get_args(annotation):
        yield from kinds_in(each)


def models_in(annotation: Any) -> Iterator[tuple[type[BaseModel], bool]]:
    """Models that may stand there, and whether as rows of a list."""
    rows = any(get_origin(each) is tuple for each in kinds_in(annotation))
    for each in kinds_in(annotation):
        if isinstance(each, type) and issubclass(each, BaseModel):
            yield each, rows


def places_in(model: type[BaseModel], head: Place = ()) -> Iterator[Place]:
    """Every field of a model, of what is in it, and of the first row of each table."""
    for name, field in model.model_fields.items():
        here = (*head, field.alias or name)
        yield here
        for inner, rows in models_in(field.annotation):
            yield from places_in(inner, (*here, 0) if rows else here)


def put(document: Any, place: Place, value: Any) -> Any:
    """A copy of a document with a value at a place, and what is needed around it."""
    if not place:
        return value
    first, *rest = place
    if isinstance(first, int):
        row = document[0] if isinstance(document, list) and document else {}
        return [put(row, tuple(rest), value)]
    here = document if isinstance(document, dict) else {}
    return {**here, first: put(here.get(first), tuple(rest), value)}


def check(line: str, place: Place) -> None:
    """The whole of what is asked of a refusal."""
    assert len(line.splitlines()) == 1, line
    assert len(line) < 1000, line
    assert not JARGON.search(without_texts(line)), line
    assert "allowed" in line or "required" in line, line
    named = [part for part in place if isinstance(part, str)]
    assert any(name in line for name in named), line


def without_texts(line: str) -> str:
    """What the user wrote, and names of settings, are not ours to judge."""
    return re.sub(r"allowed: [a-z_]+(, [a-z_]+)+|found (\"[^\"]*\"|'[^']*')", "", line)


SETTINGS = {
    "bucket": "b",
    "offers": [{"provider": "p", "instance": "i"}],
    "budgets": [{"usd": 5}],
    "rules": [{"prefix": "in/", "model": "m"}],
}
MANIFEST = {"inputs": {"prefix": "s3://b/in/"}, "model": "zeroshift/parts-inspector"}
TASK = {"prompt": "what?", "schema": {"type": "object"}}


def refused_settings(monkeypatch, folder, document: dict[str, Any]) -> str | None:
    """What is said about settings as they stand in a file."""
    (folder / "zeroshift.toml").touch()
    monkeypatch.setattr(module, "read_file", lambda file: document)
    try:
        load_settings({}, folder)
    except SettingsError as error:
        return str(error)
    return None


def refused_manifest(document: dict[str, Any]) -> str | None:
    try:
        parse_manifest(json.dumps(document, default=str), "manifest.json")
    except ManifestError as error:
        return str(error)
    return None


def ids(place: Place) -> str:
    return ".".join(map(str, place))


@pytest.mark.parametrize("place", list(dict.fromkeys(places_in(Settings))), ids=ids)
def test_a_wrong_setting_is_one_line_in_plain_words(place, monkeypatch, tmp_path):
    refused = 0
    for value in (*WRONG, float("inf"), UNSPEAKABLE):
        if line := refused_settings(monkeypatch, tmp_path, put(SETTINGS, place, value)):
            refused += 1
            check(line, place)
    assert refused >= 3, "nearly everything is taken there"


def test_a_setting_with_a_misspelt_neighbour_names_the_nearest(monkeypatch, tmp_path):
    for place in dict.fromkeys(places_in(Settings)):
        document = put(SETTINGS, (*place[:-1], f"{place[-1]}x"), 1)
        line = refused_settings(monkeypatch, tmp_path, document)
        assert line is not None
        assert "unknown key; did you mean " in line
        assert "allowed: " in line
        assert f"{place[-1]}x" in line
        assert len(line.splitlines()) == 1


def manifest_with(place: Place, value: Any) -> dict[str, Any]:
    base = MANIFEST
    if place[0] == "task":
        changed = place[1:2] and place[1] not in TASK and place[1] != "box_field"
        base = {**MANIFEST, "task": {"preset": "inspection"} if changed else TASK}
    if place[:2] == ("answer", "format") and len(place) > 2:
        base = {**MANIFEST, "output": {"format": {}}}
    where = ("output", *place[1:]) if place[0] == "answer" else place
    return put(base, where, value)


MANIFEST_PLACES = [place for place in dict.fromkeys(places_in(Manifest)) if place != ("answer",)]


@pytest.mark.parametrize("place", MANIFEST_PLACES, ids=ids)
def test_a_wrong_field_of_a_manifest_is_one_line_in_plain_words(place):
    refused = 0
    for value in WRONG:
        if line := refused_manifest(manifest_with(place, value)):
            refused += 1
            check(line, ("output", *place[1:]) if place[0] == "answer" else place)
    assert refused >= 3, "nearly everything is taken there"


def test_a_misspelt_field_of_a_manifest_names_the_nearest():
    for place in MANIFEST_PLACES:
        line = refused_manifest(manifest_with((*place[:-1], f"{place[-1]}x"), 1))
        assert line is not None
        assert "unknown key; did you mean " in line
        assert "allowed: " in line
        assert f"{place[-1]}x" in line
        assert len(line.splitlines()) == 1


def test_a_union_is_one_mistake_that_names_all_that_is_allowed(tmp_path):
    with pytest.raises(SettingsError) as caught:
        load_settings({"ZEROSHIFT_BUCKET": "b", "ZEROSHIFT_IDLE_WINDOW_S": "soon"}, tmp_path)
    assert str(caught.value) == (
        "environment: ZEROSHIFT_IDLE_WINDOW_S: found \"soon\"; allowed: a number or 'auto'"
    )


@pytest.mark.parametrize(
    ("variable", "value", "line"),
    [
        ("OFFERS", '[{"provider": 1, "instance": "i"}]', "OFFERS: [0].provider: found 1"),
        ("OFFERS", '[{"provider": "p"}]', "OFFERS: [0].instance: missing"),
        ("LOCAL", '{"cpus": "two"}', 'LOCAL: cpus: found "two"; allowed: a whole number'),
        ("local__cpus", "two", 'local__cpus: found "two"; allowed: a whole number'),
    ],
)
def test_a_value_of_a_variable_is_named_as_it_was_written(variable, value, line, tmp_path):
    with pytest.raises(SettingsError) as caught:
        load_settings({"ZEROSHIFT_BUCKET": "b", f"ZEROSHIFT_{variable}": value}, tmp_path)
    assert str(caught.value).startswith(f"environment: ZEROSHIFT_{line}")
