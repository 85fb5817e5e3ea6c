"""Messages of every sender become events; what nobody can read says why and breaks nothing."""

import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.events.messages import ObjectEvent, TestEvent, Unknown, is_older, latest, parse

ODD_KEYS = [
    "in/a b+c é.jpg",
    "in/100%25.jpg",
    "in/100%.jpg",
    "in/%2F.jpg",
    "in/a&b=c;d.jpg",
    "in/+.jpg",
    "in/日本.jpg",
    "in/a\u2028b.jpg",
]


def record(key, name="ObjectCreated:Put", source="aws:s3", **what):
    found = {"key": key, "size": 3, "eTag": "e1", **what}
    s3 = {"bucket": {"name": "b"}, "object": found}
    return {"eventSource": source, "eventName": name, "s3": s3}


def notification(*records):
    return json.dumps({"Records": list(records)})


def eventbridge(key, kind="Object Created"):
    what = {"key": key, "size": 3, "etag": "e1", "version-id": "v", "sequencer": "0A"}
    detail = {"bucket": {"name": "b"}, "object": what}
    return json.dumps({"source": "aws.s3", "detail-type": kind, "detail": detail})


def r2(key, action="PutObject"):
    what = {"key": key, "size": 3, "eTag": "e1"}
    body = {"account": "a", "action": action, "bucket": "b", "object": what, "eventTime": "t"}
    return json.dumps(body)


@pytest.mark.parametrize("key", ODD_KEYS)
@pytest.mark.parametrize("encode", [quote_plus, quote, lambda key: quote_plus(key, safe="/")])
def test_a_key_of_a_notification_is_decoded_once(key, encode):
    [event] = parse(notification(record(encode(key))))
    assert event == ObjectEvent("b", key, "created", etag="e1", size=3)


@pytest.mark.parametrize("key", ODD_KEYS)
@pytest.mark.parametrize("write", [eventbridge, r2])
def test_a_key_of_eventbridge_and_of_r2_is_taken_as_it_is(key, write):
    [event] = parse(write(key))
    assert (event.key, event.kind, event.etag, event.size) == (key, "created", "e1", 3)


@pytest.mark.parametrize("key", ODD_KEYS)
def test_ceph_sends_keys_as_they_are(key):
    [event] = parse(notification(record(key, "ObjectCreated:Put", "ceph:s3", etag="e")))
    assert event.key == key


@pytest.mark.parametrize("key", ODD_KEYS)
def test_what_sns_wraps_is_read_like_what_comes_straight(key):
    plain = notification(record(quote_plus(key)))
    wrapped = json.dumps({"Type": "Notification", "Message": plain, "TopicArn": "t"})
    assert parse(wrapped) == parse(plain)


@pytest.mark.parametrize("how", ["Put", "Post", "Copy", "CompleteMultipartUpload", "Anything"])
@pytest.mark.parametrize("head", ["", "s3:"])
def test_every_way_to_create_an_object_counts(how, head):
    [event] = parse(notification(record("k", f"{head}ObjectCreated:{how}")))
    assert event.kind == "created"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ObjectRemoved:Delete", "removed"),
        ("ObjectRemoved:DeleteMarkerCreated", "removed"),
        ("s3:LifecycleExpiration:Delete", "removed"),
        ("ObjectTagging:Put", "other"),
        ("ObjectRestore:Completed", "other"),
    ],
)
def test_what_creates_nothing_is_told_apart(name, kind):
    [event] = parse(notification(record("k", name)))
    assert event.kind == kind


@pytest.mark.parametrize(
    ("action", "kind"),
    [
        ("CopyObject", "created"),
        ("CompleteMultipartUpload", "created"),
        ("DeleteObject", "removed"),
        ("LifecycleDeletion", "removed"),
        ("New", "other"),
    ],
)
def test_actions_of_r2_are_told_apart(action, kind):
    assert parse(r2("k", action))[0].kind == kind


def test_a_deletion_of_eventbridge_is_one():
    assert parse(eventbridge("k", "Object Deleted"))[0].kind == "removed"


def test_the_test_message_of_s3_is_known_plain_and_wrapped():
    body = json.dumps({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "b"})
    assert parse(body) == (TestEvent(),)
    assert parse(json.dumps({"Type": "Notification", "Message": body})) == (TestEvent(),)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("{}", "no known shape; keys: none"),
        ('{"hello": 1}', "no known shape; keys: hello"),
        ("nonsense", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        ("", "not JSON"),
        ("[1]", "not a JSON object but int"),
        ("[]", "an empty list"),
        ("[[[[[1]]]]]", "envelopes within envelopes"),
        ('{"Records": []}', "Records is empty"),
        ('{"Records": [{}]}', "record without 's3'"),
        ('{"Records": [7]}', "record whose fields are not of the kinds"),
        (notification(record("")), "record without bucket or key"),
        (notification(record(7)), "record with '7' where a text should be"),
        (notification(record("%FF")), "record whose key is not UTF-8"),
        (notification(record("k", size="many")), "record whose fields are not of the kinds"),
        ('{"Type": "Notification", "Message": "x"}', "not JSON"),
        ('{"source": "aws.s3", "detail-type": "Object Created"}', "record without 'detail'"),
        ('{"action": "PutObject", "object": 1}', "record without 'bucket'"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_what_nobody_can_read_says_why_in_one_line(body, reason):
    [found] = parse(body)
    assert isinstance(found, Unknown)
    assert reason in found.reason
    assert len(found.reason) <= 200
    assert len(found.reason.splitlines()) == 1


@pytest.mark.parametrize(
    "bad",
    [record("k", size=float("inf")), record("in/\ud800.png"), record("k", sequencer="\udfff")],
)
def test_what_no_store_would_say_is_not_read(bad):
    [found] = parse(notification(bad))
    assert isinstance(found, Unknown)


def test_a_bad_record_hides_no_good_one():
    good, bad = parse(notification(record("k"), {}))
    assert isinstance(good, ObjectEvent)
    assert isinstance(bad, Unknown)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "Records",
                        "s3",
                        "object",
                        "key",
                        "bucket",
                        "name",
                        "detail",
                        "action",
                        "source",
                        "Type",
                        "Message",
                        "eventName",
                        "detail-type",
                        "size",
                    ]
                )
                | st.text(),
                inner,
                max_size=5,
            )
        ),
    )
)
def test_no_document_is_an_error(document):
    assert all(
        isinstance(each, ObjectEvent | TestEvent | Unknown) for each in parse(json.dumps(document))
    )


def at(sequencer, kind="created"):
    return ObjectEvent("b", "k", kind, sequencer=sequencer)


def test_sequencers_of_unequal_length_are_filled_up_on_the_right():
    assert is_older(at("0055AED6DCD90281E5"), at("0055AED6DCD90281E50001"))
    assert not is_older(at("0055AED6DCD90281E5"), at("0055AED6DCD90281E500"))
    assert is_older(at("0055AE"), at("0055AF00"))
    assert is_older(at("0a"), at("0B"))
    assert not is_older(at("1"), at("0FFFFFFF"))


@given(st.permutations([at("01"), at("02"), at("03"), at("0201", "removed"), at("04", "removed")]))
def test_in_any_order_the_last_event_of_a_key_counts(events):
    assert latest(events) == {("b", "k"): at("04", "removed")}


def test_without_sequencers_the_event_that_was_read_last_counts():
    assert latest([at(""), at("", "removed")])[("b", "k")].kind == "removed"
