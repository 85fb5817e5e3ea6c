"""Webhooks are signed, tried again when it may help, and go nowhere that they must not."""

import base64
import hashlib
import hmac
import json
import logging

import httpx
import pytest

from jobs.store.memory import MemoryStore
from jobs.telling.notify import RETRIES, Notifier, check_url, tell_once

URL = "https://hooks.example.com/t/very-secret-path"
SECRET = b"a secret"


class Server:
    """Answers with each of `statuses` in turn, the last for ever; an exception is raised."""

    def __init__(self, *statuses):
        self.statuses, self.requests, self.slept = list(statuses), [], []

    def __call__(self, request):
        self.requests.append(request)
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        if isinstance(status, Exception):
            raise status
        return httpx.Response(status, headers={"location": "http://169.254.169.254/"})

    def notifier(self):
        client = httpx.Client(transport=httpx.MockTransport(self))
        return Notifier(URL, SECRET, client, clock=lambda: 1e9, sleep=self.slept.append)


def test_an_event_is_signed_over_id_time_and_body():
    server = Server(204)
    assert server.notifier().send("e-1", "budget.soft", {"usd": "1.50"})
    [request] = server.requests
    body = request.content
    signed = b"e-1.1000000000." + body
    wanted = base64.b64encode(hmac.new(SECRET, signed, hashlib.sha256).digest()).decode()
    assert request.headers["webhook-signature"] == f"v1,{wanted}"
    assert request.headers["webhook-id"] == "e-1"
    assert json.loads(body) == {
        "type": "budget.soft",
        "timestamp": "2001-09-09T01:46:40Z",
        "data": {"usd": "1.50"},
    }


@pytest.mark.parametrize(
    "trouble", [500, 503, 429, 408, httpx.ConnectError("no"), httpx.ReadTimeout("slow")]
)
def test_what_may_pass_is_tried_three_times_more_under_the_same_id(trouble):
    server = Server(trouble)
    assert not server.notifier().send("e-1", "k", {})
    assert len(server.requests) == 1 + RETRIES == 4
    assert {each.headers["webhook-id"] for each in server.requests} == {"e-1"}
    assert server.slept == sorted(server.slept)
    again = Server(trouble, 200)
    assert again.notifier().send("e-1", "k", {})
    assert len(again.requests) == 2


@pytest.mark.parametrize("status", [302, 400, 401, 404, 410])
def test_what_is_refused_is_not_tried_again_and_no_redirect_is_followed(status):
    server = Server(status)
    assert not server.notifier().send("e-1", "k", {})
    assert [str(each.url) for each in server.requests] == [URL]


def test_neither_secret_nor_path_goes_into_a_log(caplog):
    with caplog.at_level(logging.DEBUG, logger="zeroshift"):
        Server(500).notifier().send("e-1", "k", {})
    assert "e-1 was not taken by https://hooks.example.com" in caplog.text
    assert "very-secret-path" not in caplog.text
    assert "a secret" not in caplog.text


def test_an_event_is_sent_until_it_is_taken_and_never_after():
    store, server = MemoryStore(), Server(404, 200)
    store.make_bucket("b")
    tell = lambda: tell_once(store, "b", server.notifier(), "e-1", "k", {})  # noqa: E731
    assert not tell()
    assert tell()
    assert tell()
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "url",
    [URL, "https://10.0.0.4:8443/x", "http://127.0.0.1:9/x", "http://localhost/", "http://[::1]/"],
)
def test_https_and_this_machine_may_be_told(url):
    assert check_url(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.com/",
        "ftp://hooks.example.com/",
        "https://user:password@hooks.example.com/",
        "https://169.254.169.254/latest",
        "http://localhost.example.com/",
        "http://127.0.0.1@evil.example.com/",
        "https://",
        "https://[::1",
        "https://h:port/",
        "https://h/ x",
        "",
    ],
)
def test_no_other_address_is(url):
    with pytest.raises(ValueError, match="allowed: "):
        check_url(url)
