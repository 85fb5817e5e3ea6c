"""A row has the same keys whatever happened, stands on one line and survives being read back."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from jobs.errors import PermanentError
from jobs.rows import ImageFacts, Row, RowError, Timing, Usage, read_rows

KEYS = [
    "key",
    "version",
    "frame",
    "status",
    "output",
    "error",
    "warnings",
    "image",
    "usage",
    "timing",
    "attempt",
    "cost_usd",
    "time_s",
    "group",
    "keys",
    "fields",
    "confidence",
    "boxes",
    "images",
]
FAULT = RowError(code="not_an_image", stage="decode", message="no format", retryable=False)


def row(**changes: Any) -> Row:
    return Row(**{"key": "s3://b/k", "version": "e", "status": "ok", "output": {"a": 1}, **changes})


def failed(**changes: Any) -> Row:
    return row(status="error", output=None, error=FAULT, **changes)


def full() -> Row:
    image = ImageFacts(
        format="JPEG",
        width=1080,
        height=1920,
        stored_width=1920,
        stored_height=1080,
        orientation=6,
        model_width=140,
        model_height=252,
    )
    usage = Usage(prompt_tokens=90, image_tokens=45, output_tokens=20)
    timing = Timing(fetch_s=0.1, decode_s=0.2, queue_s=0.3, generate_s=0.4)
    return row(image=image, usage=usage, timing=timing, warnings=("w",), cost_usd=Decimal("1E-7"))


@pytest.mark.parametrize("each", [row(), failed(), full()])
def test_every_row_has_all_keys_in_the_order_of_the_design(each):
    assert list(json.loads(each.to_line())) == KEYS


def test_the_parts_of_a_row_have_the_keys_of_the_design():
    parts = json.loads(full().to_line())
    assert list(parts["image"]) == [
        "format",
        "width",
        "height",
        "stored_width",
        "stored_height",
        "orientation",
        "model_width",
        "model_height",
    ]
    assert list(parts["usage"]) == [
        "prompt_tokens",
        "image_tokens",
        "output_tokens",
        "wasted_tokens",
    ]
    assert list(parts["timing"]) == ["fetch_s", "decode_s", "queue_s", "generate_s"]
    error = json.loads(failed().to_line())["error"]
    assert list(error) == ["code", "stage", "message", "retryable", "detail", "raw"]


def test_money_is_a_decimal_string():
    assert json.loads(full().to_line())["cost_usd"] == "0.0000001"


@pytest.mark.parametrize(
    "changes",
    [
        {"output": None},
        {"error": FAULT},
        {"status": "error"},
        {"status": "error", "error": FAULT},
        {"status": "error", "output": None},
        {"status": "maybe"},
        {"frame": -1},
        {"attempt": 0},
        {"surprise": 1},
    ],
)
def test_a_row_that_is_neither_an_answer_nor_an_error_is_refused(changes):
    with pytest.raises(ValidationError):
        row(**changes)


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_stays_on_one_line_and_comes_back(text):
    each = row(key=f"s3://b/{text}", output={"note": text}, warnings=(text,))
    line = each.to_line()
    assert len(line.splitlines()) == 1
    assert list(read_rows(line)) == [each]


def test_line_separators_of_unicode_are_escaped():
    line = row(output="a\u2028b\u2029c\u0085d\ne é").to_line()
    assert not set("\u2028\u2029\u0085\n") & set(line)
    assert "é" in line


def test_half_a_surrogate_pair_in_an_answer_does_not_lose_the_row():
    line = row(output={"note": "a\ud83d", "list": ["\ude00"]}, cost_usd=Decimal("0.5")).to_line()
    (back,) = read_rows(line)
    assert back.output == {"note": "a\ufffd", "list": ["\ufffd"]}
    assert back.cost_usd == Decimal("0.5")
    assert list(json.loads(line)) == KEYS


@pytest.mark.parametrize("as_bytes", [True, False])
def test_rows_are_read_from_lines_with_or_without_a_last_line_end(as_bytes):
    rows = [row(), failed(), full()]
    text = "\n".join(each.to_line() for each in rows) + "\n\n"
    assert list(read_rows(text.encode() if as_bytes else text)) == rows


def test_a_line_that_is_not_a_row_is_named():
    text = row().to_line() + '\n{"key": "k"}\n'
    with pytest.raises(PermanentError, match=r"^line 2 is not a row: version: missing"):
        list(read_rows(text))


def test_a_line_that_was_cut_off_is_named():
    with pytest.raises(PermanentError, match=r"^line 1 is not a row: Invalid JSON"):
        list(read_rows(row().to_line()[:-5]))
