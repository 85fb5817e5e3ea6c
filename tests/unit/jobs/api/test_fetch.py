"""Pictures of the web come from allowed hosts at public addresses, or not at all."""

import httpx
import pytest

from jobs.api.batch.fetch import Fetcher, is_public
from jobs.api.batch.work import BatchWork
from jobs.api.body_checks import BodyError
from jobs.api.image_parts import Remote
from jobs.settings.api import Api
from tests.batch_lines import line

HOST = "images.example.com"
PUBLIC = "93.184.216.34"


def fetcher(answer=None, addresses=(PUBLIC,), seen=None, most=100, seconds=10.0):
    def respond(request):
        if seen is not None:
            seen.append(request)
        return answer or httpx.Response(200, content=iter([b"picture"]))

    transport = httpx.MockTransport(respond)
    return Fetcher((HOST,), most, seconds, lambda host: addresses, transport)


def refused(url, **more):
    seen = []
    with pytest.raises(BodyError) as caught:
        fetcher(seen=seen, **more).fetch(Remote(url, "messages[0]"))
    assert caught.value.code == "invalid_image_url"
    return str(caught.value), seen


def test_the_connection_goes_to_the_address_that_was_looked_at_under_the_hosts_name():
    seen = []
    body = fetcher(seen=seen).fetch(Remote(f"https://{HOST}/a/b.png?x=1#y", "p"))
    [request] = seen
    assert body == b"picture"
    assert str(request.url) == f"https://{PUBLIC}/a/b.png?x=1"
    assert request.headers["host"] == HOST
    assert request.extensions["sni_hostname"] == HOST
    assert "authorization" not in request.headers


def test_an_address_of_ip_6_is_connected_to_as_well():
    seen = []
    fetcher(seen=seen, addresses=("2606:2800:220:1::1",)).fetch(Remote(f"https://{HOST}/a", "p"))
    assert seen[0].url.host == "2606:2800:220:1::1"


@pytest.mark.parametrize(
    "url",
    [
        "https://other.example.com/x.png",
        f"https://{HOST}.evil.example/x.png",
        f"https://{HOST}:8443/x.png",
        f"https://user@{HOST}/x.png",
        f"https://{HOST}@evil.example/x.png",
        "https://127.0.0.1/x.png",
        "https://169.254.169.254/latest/meta-data",
        "https:///x.png",
        "https://[::1/x.png",
        f"https://{HOST}:x/",
        f"https://{HOST}/\x00",
        f"https://{HOST}/?a=\x7f",
    ],
)
def test_another_host_is_refused_and_never_asked(url):
    assert refused(url)[1] == []


PRIVATE = [
    *("127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0"),
    *("100.64.0.1", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fc00::1"),
    *("::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:7f00:1::"),
    *("fd00:ec2::254", "ff02::1", "192.0.2.1", "198.18.0.1", "192.88.99.1"),
    *("::127.0.0.1", "fec0::1", "2001::1", "2001:db8::1", "3fff::1", "5f00::1", "fe80::1%eth0"),
]


@pytest.mark.parametrize("address", PRIVATE)
def test_an_allowed_host_that_leads_to_a_private_address_is_refused(address):
    said, seen = refused(f"https://{HOST}/x.png", addresses=(PUBLIC, address))
    assert "not public" in said
    assert seen == []


@pytest.mark.parametrize("address", [PUBLIC, "2606:2800:220:1::1", "::ffff:93.184.216.34"])
def test_public_addresses_are_public(address):
    assert is_public(address)


@pytest.mark.parametrize("status", [301, 302, 307, 404, 500])
def test_a_redirect_is_no_picture(status):
    there = {"Location": "http://169.254.169.254/"}
    said, seen = refused(f"https://{HOST}/x", answer=httpx.Response(status, headers=there))
    assert str(status) in said
    assert len(seen) == 1


def test_a_picture_that_is_too_large_is_given_up():
    answer = httpx.Response(200, content=iter([b"x" * 60, b"x" * 60]))
    assert "larger than 100 bytes" in refused(f"https://{HOST}/x", answer=answer)[0]


def test_a_picture_that_takes_too_long_is_given_up():
    assert "longer than" in refused(f"https://{HOST}/x", seconds=-1.0)[0]


def test_a_host_that_is_not_known_is_refused():
    def unknown(host):
        raise OSError("no such host")

    with pytest.raises(BodyError, match="not known"):
        Fetcher((HOST,), 1, 1.0, unknown).fetch(Remote(f"https://{HOST}/x", "p"))


def test_a_connection_that_fails_is_an_error_of_the_request():
    def fail(request):
        raise httpx.ConnectError("refused")

    with pytest.raises(BodyError, match="ConnectError"):
        Fetcher((HOST,), 1, 1.0, lambda host: (PUBLIC,), httpx.MockTransport(fail)).fetch(
            Remote(f"https://{HOST}/x", "p")
        )


def test_a_picture_of_the_web_is_an_object_of_the_batch_before_the_job_begins(
    store, settings, batch_of, body, png, client, lines_in, controller
):
    batch_id = batch_of(line("a", body(f"https://{HOST}/x.png")))
    work = BatchWork(store, settings, fetch=lambda picture: png)
    work.round()
    worker = controller()
    worker.look()
    worker.leave()
    work.round()
    ended = client.get(f"/v1/batches/{batch_id}").json()
    assert ended["request_counts"] == {"total": 1, "completed": 1, "failed": 0}


def test_without_allowed_hosts_a_picture_of_the_web_is_an_error_line(
    work, batch_of, body, client, lines_in
):
    batch_id = batch_of(line("a", body(f"https://{HOST}/x.png")))
    work.round()
    ended = client.get(f"/v1/batches/{batch_id}").json()
    [error] = lines_in(ended["error_file_id"])
    assert "allowed: none" in error["response"]["body"]["error"]["message"]


def test_a_picture_that_is_larger_than_a_file_may_be_is_an_error_line(
    store, make_settings, batch_of, body, client, lines_in, model
):
    small = make_settings(pictures={"max_bytes": 10}, api=Api(models=(model,)))
    batch_id = batch_of(line("a", body()))
    BatchWork(store, small).round()
    ended = client.get(f"/v1/batches/{batch_id}").json()
    [error] = lines_in(ended["error_file_id"])
    assert error["response"]["body"]["error"]["code"] == "image_too_large"
