"""A user's regular expression ends, whatever it is and whatever it meets."""

import time

import pytest

from jobs.errors import ManifestError
from jobs.inputs.groups import grouped
from jobs.manifest.inputs import GroupBy, Inputs
from jobs.order import PinnedInput
from jobs.patterns import TooSlow, search
from worker.check import check_answer
from worker.errors import CheckError

CATASTROPHE, VICTIM = "^(a|a)+$", "a" * 60 + "!"


def test_an_honest_pattern_finds_what_re_would():
    found = search(r"(part-\d+)_", "inbox/part-12_left.jpg")
    assert found is not None
    assert found.group(1) == "part-12"
    assert search("^b", "ab") is None


def test_a_pattern_without_an_end_is_ended():
    began = time.monotonic()
    with pytest.raises(TooSlow, match="allowed: one without a repetition inside a repetition"):
        search(CATASTROPHE, VICTIM)
    assert time.monotonic() - began < 10


def test_grouping_by_such_a_pattern_is_one_line():
    inputs = Inputs(prefix="s3://b/in/", group_by=GroupBy(pattern=CATASTROPHE))
    pinned = [PinnedInput(address=f"s3://b/{VICTIM}", etag="e", size=1)]
    with pytest.raises(ManifestError, match=r"^inputs.group_by: pattern "):
        list(grouped(pinned, inputs))


def test_an_answer_under_such_a_pattern_is_a_violation_and_no_hang():
    schema = {"type": "string", "pattern": CATASTROPHE}
    with pytest.raises(CheckError) as caught:
        check_answer(f'"{VICTIM}"', "stop", schema)
    assert caught.value.code in ("schema_violation", "repetition")
    assert check_answer('"aa"', "stop", schema) == "aa"
