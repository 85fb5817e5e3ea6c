"""A page holds what a browser can; of more rows the most telling are kept, and the rest counted."""

import json

from hypothesis import given
from hypothesis import strategies as st

from jobs.report.entries import Entries, dumps, shortened

ERROR = {"status": "error", "error": {"code": "c"}}
BOXED = {"status": "ok", "output": {"bbox": [1, 2, 3, 4]}}
PLAIN = {"status": "ok", "output": {}}
KINDS = {"e": ERROR, "b": BOXED, "p": PLAIN}


def kept(kinds: str, most: int) -> Entries:
    entries = Entries("bbox", most)
    for index, kind in enumerate(kinds):
        entries.add({"key": kind, **KINDS[kind]}, 0, index)
    return entries


def test_all_rows_are_kept_in_their_order_when_they_fit():
    entries = kept("pbep", 4)
    assert [entry.number for entry in entries] == [0, 1, 2, 3]
    assert entries.left_out == 0


def test_errors_come_before_boxes_and_boxes_before_the_rest():
    entries = kept("pppbbbee", 4)
    assert [json.loads(each.body)["row"]["key"] for each in entries] == ["b", "b", "e", "e"]
    assert (entries.seen, entries.left_out) == (8, 4)


@given(st.text("ebp", max_size=40), st.integers(0, 12))
def test_no_row_is_kept_while_a_more_telling_one_is_left_out(kinds, most):
    found = [json.loads(each.body)["row"]["key"] for each in kept(kinds, most)]
    assert sorted(found, key="ebp".index) == sorted(kinds, key="ebp".index)[:most]


def test_empty_fields_are_left_out_and_zeros_are_not():
    row = {"key": "k", "group": None, "fields": {}, "keys": [], "frame": 0, "raw": "", "no": False}
    assert shortened(row) == {"key": "k", "frame": 0, "no": False}


def test_long_texts_are_cut_and_say_how_long_they_were():
    row = {"output": {"pages": ["x" * 9000]}}
    [page] = shortened(row)["output"]["pages"]
    assert page == "x" * 4000 + "… (9000 characters)"


def test_of_long_rows_there_are_fewer_and_errors_still_come_first():
    entries = Entries("bbox", 100, most_bytes=10_000)
    for number, kind in enumerate("p" * 20 + "e" * 3):
        entries.add({"key": "x" * 1000, **KINDS[kind]}, 0, number)
    kept_bytes = sum(len(each.body) for each in entries)
    assert 8_000 < kept_bytes <= 10_000
    assert [each.number for each in entries][-3:] == [20, 21, 22]
    assert entries.left_out == 23 - len(entries)


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_for_a_script_is_plain_and_means_the_same(value):
    text = dumps(value)
    assert json.loads(text) == value
    assert text.isascii()
    assert not set("<>&\n\r") & set(text)
