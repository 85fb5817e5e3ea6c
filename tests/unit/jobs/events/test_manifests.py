"""A batch's own manifest says what is asked, and nothing that costs; names are made legal."""

import json
import logging
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.addresses import Address, JobPaths
from jobs.events.batches import batch_id
from jobs.events.manifests import job_name
from jobs.submit.submission import load_manifest


def test_a_manifest_of_its_own_closes_a_batch_and_says_what_is_asked(
    store, bucket, make_doors, put, close
):
    put("a/1.png")
    doors = make_doors(closed_by="manifest.json", labels={"line": "4"}, max_usd="5")
    close("a")  # is none
    assert doors.look() == []
    own = {
        "name": "night",
        "labels": {"shift": "n", "line": "x"},
        "budget": {"max_usd": 2},
        "output": {"confidence": True},
        "inputs": {"group_by": "folder"},
    }
    close("a", "manifest.json", json.dumps(own).encode())
    [submitted] = doors.look()
    manifest = load_manifest(store, JobPaths.of(bucket, submitted.record.job_id))
    assert manifest.name == "night"
    assert manifest.labels == {"shift": "n", "line": "4"}
    assert manifest.answer.confidence
    assert manifest.inputs.group_by == "folder"
    assert manifest.output == f"s3://{bucket}/results/inbox/a/"
    assert str(manifest.budget.max_usd) == "2"


@pytest.mark.parametrize(
    ("own", "line"),
    [
        ('{"model": "x"}', "model: is the rule's to say"),
        ('{"inputs": {"prefix": "s3://b/else/"}}', "inputs.prefix: is the rule's to say"),
        ('{"output": {"prefix": "s3://b/else/"}}', "output.prefix: is the rule's to say"),
        ('{"output": "s3://b/else/"}', "output: found"),
        ('{"budget": {"max_usd": 6}}', "budget.max_usd: found 6; allowed: up to 5"),
        ('{"budget": {"max_usd": null}}', "budget.max_usd: found null; allowed: up to 5"),
        ('{"task": "nonsense"}', "task: found"),
        ('{"labels": 3}', "labels: found 3; allowed: an object"),
        ("[]", "not an object"),
        ("{", "not JSON"),
    ],
)
def test_a_manifest_that_says_too_much_is_refused_and_tried_again_when_it_changes(
    make_doors, put, close, caplog, own, line
):
    put("a/1.png")
    close("a", "manifest.json", own.encode())
    doors = make_doors(closed_by="manifest.json", max_usd="5")
    caplog.set_level(logging.INFO, "zeroshift")
    assert doors.look() == []
    assert line in caplog.text
    caplog.clear()
    assert doors.look() == []
    assert caplog.text == ""
    close("a", "manifest.json", b'{"task": "inspection"}')
    assert len(doors.look()) == 1


@given(st.text())
def test_any_folder_name_makes_a_legal_job_name(folder):
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", job_name(folder))


@given(st.dictionaries(st.text(), st.text(), min_size=1), st.randoms())
def test_a_batch_has_one_id_in_whatever_order_it_is_seen(content, random):
    folder, items = Address("b", "inbox/a/"), list(content.items())
    random.shuffle(items)
    assert batch_id(folder, dict(items)) == batch_id(folder, content)
    assert batch_id(folder, {**content, "more": "e"}) != batch_id(folder, content) or (
        content.get("more") == "e"
    )
    assert batch_id(Address("b", "inbox/b/"), content) != batch_id(folder, content)


def test_a_job_is_named_after_its_folder():
    names = [job_name(each) for each in ("Line 4", "--", "2026/10")]
    assert names == ["line-4", "batch", "2026-10"]
