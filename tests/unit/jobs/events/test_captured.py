"""Messages as stores send them, and not as we would think that they do."""

import itertools
import json
from pathlib import Path

import pytest

from jobs.events.messages import ObjectEvent, is_older, latest, parse

CAPTURED = Path(__file__).parent / "captured"
CEPH = (CAPTURED / "ceph-16.2.15.jsonl").read_bytes().removesuffix(b"\n").split(b"\n")
SAID_BY_CEPH = [
    ("created", "inbox/a/1.png", 3),
    ("created", "inbox/a/a b+c é 100%25 日本&=.png", 3),
    ("created", 'inbox/a/"quote\\back\tslash\x07.png', 3),
    ("created", "inbox/a/a\u2028b\U0001f600.png", 3),
    ("created", "inbox/a/_SUCCESS", 3),
    ("created", "inbox/dir/", 3),
    ("created", "inbox/a/1.png", 3),  # copied onto itself
    ("removed", "inbox/a/1.png", 3),
    ("created", "inbox/a/big.png", 100),  # in parts
    ("created", "inbox/a/v.png", 1),  # with a version
    ("removed", "inbox/a/v.png", 1),  # a delete marker
    ("removed", "inbox/a/v.png", 1),  # the version itself
]


@pytest.fixture
def ceph():
    return [event for body in CEPH for event in parse(body)]


def test_all_that_ceph_says_is_read_with_its_keys_as_they_are(ceph):
    assert [(each.kind, each.key, each.size) for each in ceph] == SAID_BY_CEPH
    assert {each.bucket for each in ceph} == {"odd5"}
    assert [len(each.version) for each in ceph[-3:]] == [31, 0, 31]


def test_sequencers_of_ceph_order_its_events_though_their_lowest_byte_is_first(ceph):
    raw = [json.loads(each)["Records"][0]["s3"]["object"]["sequencer"] for each in CEPH]
    assert sorted(raw) != raw  # so they may not be compared as AWS's are
    assert all(is_older(one, other) for one, other in itertools.pairwise(ceph))


def test_in_whatever_order_cephs_messages_come_the_last_of_a_key_counts(ceph):
    of_one = [each for each in ceph if each.key == "inbox/a/1.png"]
    for order in itertools.permutations(of_one):
        [event] = latest(order).values()
        assert event == of_one[-1]


@pytest.mark.parametrize("odd", ["", "zz", "508E0D6B", "508E0D6BC622CE1", "0" * 18, "é" * 16])
def test_a_sequencer_of_ceph_that_is_none_orders_nothing_and_loses_nothing(odd):
    document = json.loads(CEPH[0])
    document["Records"][0]["s3"]["object"]["sequencer"] = odd
    [event] = parse(json.dumps(document))
    assert (event.key, event.sequencer) == ("inbox/a/1.png", "")


def test_what_minio_says_is_read():
    put, removed = parse((CAPTURED / "minio.json").read_bytes())
    key = "inbox/a/a b+c é 100%25.png"
    tag = "f561aaf6ef0bf14d4208bb46a4ccb3ad"
    assert put == ObjectEvent("pics", key, "created", "", tag, 3, "17A5F0C3F6B4F1E0")
    assert (removed.kind, removed.key) == ("removed", key)
    assert is_older(put, removed)


def test_what_r2_says_is_read_also_as_a_list_as_a_forwarder_of_a_queue_has_it():
    copied, removed = parse((CAPTURED / "r2.json").read_bytes())
    tag = "c846ff7a18f28c2e262116d6e8719ef0"
    assert copied == ObjectEvent("my-bucket", "my-new-object", "created", etag=tag, size=65536)
    assert removed == ObjectEvent("my-bucket", "my-new-object", "removed")
