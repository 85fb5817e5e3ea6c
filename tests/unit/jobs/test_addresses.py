"""Addresses are taken as they stand, and a job's keys lie where the design says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.addresses import Address, JobPaths, jobs_root
from jobs.errors import UserError

names = st.text(st.characters(exclude_characters="/", exclude_categories=["Cs"]), min_size=1)
keys = st.text(st.characters(exclude_categories=["Cs"]))


@given(names, keys)
def test_an_address_survives_being_written_and_parsed(bucket, key):
    address = Address(bucket, key)
    assert Address.parse(str(address)) == address


@pytest.mark.parametrize("key", ["a%20b", "a+b", "ä/ö ü", "a//b", "../up", "q?x=1#y"])
def test_a_key_is_never_decoded_or_cleaned(key):
    assert Address.parse(f"s3://b/{key}").key == key


@pytest.mark.parametrize("text", ["", "b/k", "s3:/b/k", "http://b/k", "s3://", "s3:///k", "S3://b"])
def test_what_is_no_address_is_refused_with_what_is_allowed(text):
    with pytest.raises(UserError, match="allowed: s3://BUCKET/KEY"):
        Address.parse(text)


@pytest.mark.parametrize(
    ("head", "joined"), [("", "x"), ("a", "a/x"), ("a/", "a/x"), ("a/b/", "a/b/x")]
)
def test_joining_puts_exactly_one_slash_between(head, joined):
    assert (Address("b", head) / "x").key == joined


@pytest.mark.parametrize(("key", "name"), [("a/b", "b"), ("a/b/", "b"), ("a", "a"), ("", "")])
def test_the_name_is_the_last_part_of_the_key(key, name):
    assert Address("b", key).name == name


def test_the_keys_of_a_job_lie_under_its_folder():
    paths = JobPaths.of("b", "job-1")
    assert paths.job_id == "job-1"
    assert str(paths.record) == "s3://b/zeroshift/jobs/job-1/record.json"
    assert paths.rows_of(7).key.endswith("job-1/rows/00007.jsonl")
    assert paths.inputs_of(7).key.endswith("job-1/inputs/00007.jsonl")
    assert paths.marker_of(7).key.endswith("job-1/shards/00007.json")
    assert paths.attempt(2).key.endswith("job-1/attempts/00002.json")
    assert paths.root.key.startswith(jobs_root("b").key)
