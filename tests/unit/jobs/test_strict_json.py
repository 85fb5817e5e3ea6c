"""Documents that are written down again hold nothing that can't be."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.errors import UserError
from jobs.strict_json import load_strict, load_text

ANY_TEXT = st.text(st.characters() | st.characters(categories=["Cs"]), max_size=4)


@given(st.dictionaries(ANY_TEXT, ANY_TEXT | st.lists(ANY_TEXT, max_size=2), max_size=3))
def test_what_is_taken_can_be_written_as_utf_8_and_nothing_else_is_refused(document):
    text = json.dumps(document)
    try:
        json.dumps(load_strict(text, "x"), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        with pytest.raises(UserError, match=r"^x: found .*half of a surrogate pair"):
            load_text(text, "x")
    else:
        assert load_text(text, "x") == document


@pytest.mark.parametrize("text", [r'"\ud83d\ude00"', r'"\\ud800"', '"\U0001f600"'])
def test_whole_pairs_and_what_only_looks_like_a_half_are_taken(text):
    assert load_text(text, "x") == json.loads(text)
