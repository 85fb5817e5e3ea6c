"""A webhook lets in who proves to know the secret, once and lately, and says no in one line."""

import base64
import hashlib
import hmac
import json
import logging

import pytest

from jobs.errors import SettingsError, StoreUnavailable
from jobs.events.doors import LOOK_S
from jobs.events.messages import ObjectEvent
from jobs.events.webhook import Accepted, Refused, Secrets, load_secrets, receive
from jobs.queue import queued
from jobs.settings.doors import Events

TOKEN, KEY, NOW = b"token-of-sixteen-bytes", b"key-of-more-than-16-bytes", 1_796_000_000.0
SECRETS = Secrets(TOKEN, KEY)
BODY = json.dumps(
    {
        "EventName": "s3:ObjectCreated:Put",
        "Key": "b/inbox/a/1.png",
        "Records": [
            {
                "eventSource": "minio:s3",
                "eventName": "s3:ObjectCreated:Put",
                "s3": {"bucket": {"name": "b"}, "object": {"key": "inbox%2Fa%2F1.png", "size": 3}},
            }
        ],
    }
).encode()
EVENT = ObjectEvent("b", "inbox/a/1.png", "created", size=3)


def bearer(token=TOKEN):
    return {"Authorization": f"Bearer {token.decode()}"}


def signed(body=BODY, at=NOW, key=KEY):
    stamp = str(int(at))
    digest = hmac.new(key, stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    return {"X-Zeroshift-Timestamp": stamp, "x-zeroshift-signature": f"sha256={digest}"}


def basic(password=TOKEN):
    return {"authorization": "Basic " + base64.b64encode(b"any:" + password).decode()}


@pytest.mark.parametrize(
    "headers", [bearer(), signed(), basic(), {"AUTHORIZATION": bearer()["Authorization"]}]
)
def test_whoever_knows_the_secret_is_let_in(headers):
    assert receive(headers, BODY, NOW, Events(), SECRETS) == Accepted((EVENT,))


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({}, "the bearer token is missing or wrong"),
        (bearer(b"wrong"), "the bearer token is missing or wrong"),
        ({"Authorization": "Bearer "}, "missing or wrong"),
        ({"Authorization": "Digest x"}, "missing or wrong"),
        ({"Authorization": "Basic !!"}, "missing or wrong"),
        (basic(b"wrong"), "missing or wrong"),
        (signed(key=b"x" * 20), "the signature is wrong"),
        (signed(body=b"other"), "the signature is wrong"),
        ({**signed(), "X-Zeroshift-Timestamp": str(int(NOW) + 1)}, "the signature is wrong"),
        ({**signed(), "X-Zeroshift-Timestamp": "soon"}, "is no number of seconds"),
        ({**signed(), "X-Zeroshift-Timestamp": "²"}, "is no number of seconds"),
        ({"x-zeroshift-signature": "sha256=é"}, "is no number of seconds"),
        (signed(at=NOW - 301), "more than 300 s from now"),
        (signed(at=NOW + 301), "more than 300 s from now"),
        ({**bearer(), **signed(key=b"x" * 20)}, "the signature is wrong"),
    ],
)
def test_whoever_does_not_is_refused_in_one_line_without_the_secret(headers, reason):
    refused = receive(headers, BODY, NOW, Events(), SECRETS)
    assert isinstance(refused, Refused)
    assert refused.status == 401
    assert reason in refused.reason
    assert "\n" not in refused.reason
    assert TOKEN.decode() not in refused.reason
    assert KEY.decode() not in refused.reason


def test_without_a_secret_nobody_is_let_in():
    refused = receive(bearer(), BODY, NOW, Events(), Secrets())
    assert (refused.status, "no secret is set" in refused.reason) == (403, True)


def test_without_a_token_a_signature_is_a_must():
    refused = receive(bearer(), BODY, NOW, Events(), Secrets(key=KEY))
    assert (refused.status, "not signed" in refused.reason) == (401, True)


def test_the_window_is_a_setting():
    wide = Events(replay_window_s=1000)
    assert isinstance(receive(signed(at=NOW - 999), BODY, NOW, wide, SECRETS), Accepted)


def test_a_long_body_is_refused_before_anything_is_read_of_it():
    refused = receive({}, b"x" * 101, NOW, Events(max_body_bytes=100), SECRETS)
    assert refused == Refused(413, "body of more than 100 bytes")


@pytest.mark.parametrize("body", [b"", b"{}", b"\xff", b'{"Records": [{}]}'])
def test_what_can_not_be_read_is_refused_with_the_reason(body):
    refused = receive(bearer(), body, NOW, Events(), SECRETS)
    assert refused.status == 400
    assert refused.reason.startswith("can't be read: ")


def test_a_test_event_is_accepted_and_says_nothing():
    body = json.dumps({"Event": "s3:TestEvent"}).encode()
    assert receive(bearer(), body, NOW, Events(), SECRETS) == Accepted(())


def test_secrets_are_read_from_a_variable_or_a_file_and_never_shown(tmp_path):
    path = tmp_path / "key"
    path.write_text(KEY.decode() + "\n")
    settings = Events(token_variable="HOOK", signing_file=str(path))
    secrets = load_secrets(settings, {"HOOK": TOKEN.decode()})
    assert (secrets.token, secrets.key) == (TOKEN, KEY)
    assert TOKEN.decode() not in repr(secrets)


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (Events(token_variable="HOOK"), "events.token_variable HOOK: is empty; allowed: a secret"),
        (Events(token_variable="SHORT"), "events.token_variable SHORT: holds too little"),
        (Events(signing_file="/nowhere/key"), "events.signing_file: /nowhere/key can't be read"),
        (Events(token_variable="A", token_file="b"), "allowed: one of them"),
    ],
)
def test_a_secret_that_is_not_there_is_one_line(settings, line):
    with pytest.raises(SettingsError) as caught:
        load_secrets(settings, {"SHORT": "short-secret"})
    assert line in str(caught.value)
    assert "short-secret" not in str(caught.value)


@pytest.fixture
def hook(make_doors, monkeypatch):
    """Doors whose webhook takes a token."""
    monkeypatch.setenv("WEBHOOK_TOKEN", TOKEN.decode())
    return make_doors(events=Events(token_variable="WEBHOOK_TOKEN"))


def r2(bucket, key):
    what = {"key": key, "size": 3, "eTag": "e"}
    return json.dumps(
        {"account": "a", "action": "PutObject", "bucket": bucket, "object": what}
    ).encode()


def test_a_request_makes_the_job_of_its_batch_once(store, bucket, hook, put, close):
    put("a/1 2+3.png")
    close("a")
    body = r2(bucket, "inbox/a/1 2+3.png")
    first = hook.webhook(bearer(), body, NOW)
    assert (first.status, first.line, len(first.jobs)) == (200, "1 event, 1 job", 1)
    again = hook.webhook(bearer(), body, NOW)
    assert (again.status, again.jobs) == (200, ())
    assert queued(store, bucket) == list(first.jobs)


def test_a_request_that_proves_nothing_starts_nothing(store, bucket, hook, put, close):
    put("a/1.png")
    close("a")
    assert hook.webhook({}, r2(bucket, "inbox/a/1.png"), NOW).status == 401
    assert queued(store, bucket) == []


def test_a_store_that_does_not_answer_asks_the_sender_to_send_again(
    bucket, hook, put, close, monkeypatch
):
    put("a/1.png")
    close("a")

    def busy(*arguments):
        raise StoreUnavailable("busy")

    monkeypatch.setattr("jobs.events.folders.submit", busy)
    assert hook.webhook(bearer(), r2(bucket, "inbox/a/1.png"), NOW).status == 503


def test_a_webhook_that_is_not_set_up_says_why_in_the_log_alone(make_doors, caplog):
    doors = make_doors(events=Events(token_variable="NOT_THERE_AT_ALL"))
    caplog.set_level(logging.INFO, "zeroshift")
    reply = doors.webhook(bearer(), BODY, NOW)
    assert (reply.status, reply.line) == (503, "the webhook is not set up")
    assert "NOT_THERE_AT_ALL: is empty" in caplog.text


def test_an_event_that_starts_nothing_is_answered_while_a_look_goes_on(bucket, hook):
    """Ceph lets the writer of an object wait until we have answered, and a look writes objects."""
    own = r2(bucket, "zeroshift/inbox/clock")
    with hook._together._turn, hook._lock:
        assert hook.webhook(bearer(), own, NOW).line == "1 event, 0 jobs"


def test_what_can_be_read_of_a_request_is_taken_and_the_rest_is_said(
    store, bucket, hook, put, close
):
    put("a/1.png")
    close("a")
    body = b"[" + r2(bucket, "inbox/a/1.png") + b', {"hello": 1}]'
    reply = hook.webhook(bearer(), body, NOW)
    assert (reply.status, "no known shape; keys: hello" in reply.line) == (400, True)
    assert len(queued(store, bucket)) == 1


def test_a_key_that_no_store_has_is_passed_over_not_asked_for_again(bucket, hook):
    assert hook.webhook(bearer(), r2(bucket, f"inbox/a/{'é' * 600}"), NOW).status == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [(bearer(), None), (basic(), None), ({}, 401), (bearer(b"wrong"), 401), (signed(), 401)],
)
def test_the_headers_alone_tell_who_need_not_send_a_body(hook, headers, status):
    reply = hook.refuse(headers, NOW)
    assert (reply and reply.status) == status


def test_a_request_about_more_folders_than_can_be_looked_at_in_time_is_noted_and_not_lost(
    store, bucket, hook, put, close, clock, started
):
    """Two are looked at, two noted, the last ones asked for again."""
    for number in range(6):
        put(f"{number}/1.png")
        close(f"{number}")
    look, put_note, passed = hook._folders.look, hook._notes.put, [0.0]

    def slow(act):
        def acted(*arguments):
            passed[0] += LOOK_S * 0.6
            return act(*arguments)

        return acted

    hook._hints._monotonic = lambda: passed[0]
    hook._folders.look, hook._notes.put = slow(look), slow(put_note)
    body = b"[" + b",".join(r2(bucket, f"inbox/{n}/1.png") for n in range(6)) + b"]"
    assert hook.webhook(bearer(), body, NOW).status == 503
    assert started(store, bucket) == [("0/1.png",), ("1/1.png",)]
    hook._folders.look, hook._notes.put, hook._listed_at = look, put_note, hook._monotonic()
    clock.ahead_s = 1
    hook.look()  # as a controller does; it lists nothing now
    assert started(store, bucket) == [(f"{n}/1.png",) for n in range(4)]
    assert hook.webhook(bearer(), body, NOW).status == 200
    assert len(queued(store, bucket)) == 6
