"""Keys are shown once and kept as hashes; without one only this machine is let in."""

import json
import logging

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from jobs.addresses import Address
from jobs.api.access.keys import FRESH_S, KeyRing, all_keys, create_key, keys_root, revoke_key
from jobs.api.access.rates import Rates
from jobs.api.app import make_app
from jobs.cli import keys as command
from jobs.errors import NotFound, UserError
from jobs.settings.api import Api


@pytest.fixture
def token(store, bucket):
    """Makes a key with these scopes; answers its token."""
    return lambda *scopes: create_key(store, bucket, "test", scopes, 1.0)[1]


@pytest.fixture
def ask(store, settings, token):
    """Asks an app that was made after the keys."""

    def do(token, path="/v1/jobs", method="GET", settings=settings, **more):
        client = TestClient(make_app(store, settings), base_url="http://127.0.0.1")
        return client.request(method, path, headers=bearer(token), **more)

    return do


def bearer(token):
    return {"Authorization": f"Bearer {token}"} if token else {}


def test_a_key_with_the_scope_may(ask, token):
    assert ask(token("read")).status_code == 200


@pytest.mark.parametrize("scope", ["read", "submit", "admin"])
def test_scopes_are_told_apart(ask, token, scope):
    had = token(scope)
    read, wrote = ask(had), ask(had, method="POST", content=b"{")
    assert read.status_code == (403 if scope == "submit" else 200)
    assert wrote.status_code == (403 if scope == "read" else 400)
    refused = read if scope == "submit" else wrote
    if scope != "admin":
        assert refused.json()["error"]["code"] == "insufficient_scope"


@pytest.mark.parametrize("wrong", [None, "", "zs_", "zs_x_y", "nothing", "zs__", "\u00e9"])
def test_without_a_right_token_nobody_is_let_in(store, settings, token, wrong):
    token("admin")
    client = TestClient(make_app(store, settings), base_url="http://127.0.0.1")
    headers = {"Authorization": f"Bearer {wrong}".encode()} if wrong is not None else {}
    answer = client.get("/v1/jobs", headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["error"]["code"] == "invalid_api_key"


def test_the_id_of_a_key_with_another_secret_is_no_key(ask, token):
    one, other = token("admin"), token("admin")
    forged = one[: one.index("_", 3)] + other[other.index("_", 3) :]
    assert ask(forged).status_code == 401


def test_every_route_but_health_and_the_document_needs_a_key(store, settings, token):
    token("admin")
    app = make_app(store, settings)
    client = TestClient(app, base_url="http://127.0.0.1")
    for path, methods in app.openapi()["paths"].items():
        for method in methods:
            answer = client.request(method, path.format(**dict.fromkeys(NAMES, "x")))
            assert answer.status_code == OPEN.get(path, 401), path


# Senders of events prove themselves by a secret of their own; here there is none.
OPEN = {"/healthz": 200, "/readyz": 200, "/events": 403}
NAMES = ("job_id", "file_id", "batch_id", "model")


def test_the_bucket_has_no_token_but_its_hash(store, bucket, token):
    secret = token("read").rpartition("_")[2]
    [found] = store.list(keys_root(bucket))
    assert secret.encode() not in store.read(found.address)


def test_a_revoked_key_stops_working_in_servers_that_run(store, bucket):
    now = [0.0]
    ring = KeyRing(store, bucket, lambda: now[0])
    key, token = create_key(store, bucket, "n", ["read"], 1.0)
    assert ring.find(token).id == key.id
    revoke_key(store, bucket, key.id, 2.0)
    now[0] = FRESH_S + 1
    assert ring.find(token) is None
    assert not ring.is_empty


def test_revoking_the_last_key_does_not_let_everybody_in(ask, store, bucket, token):
    token("read")
    [key] = all_keys(store, bucket)
    revoke_key(store, bucket, key.id, 2.0)
    assert ask(None).status_code == 401


def test_an_unknown_token_costs_no_request_to_the_store(store, bucket, token, monkeypatch):
    ring = KeyRing(store, bucket)
    ring.find("x")
    monkeypatch.setattr(type(store), "_request", lambda *_, **__: pytest.fail("asked the store"))
    assert ring.find("zs_y_z") is None


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:8321"}, 200),
        ({"Host": "[::1]:8321"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Host": ""}, 403),
        ({"Host": "["}, 403),
        ({"Origin": "http://["}, 403),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_without_keys_a_page_of_elsewhere_in_a_browser_here_is_refused(client, headers, status):
    assert client.get("/v1/jobs", headers=headers).status_code == status


def test_without_keys_a_server_for_others_lets_nobody_in(store, settings):
    app = make_app(store, settings, is_local=False)
    client = TestClient(app, base_url="http://127.0.0.1")
    assert client.get("/v1/jobs").status_code == 401


def test_rates_allow_a_burst_then_fill_evenly():
    now = [0.0]
    rates = Rates(60, lambda: now[0])
    assert [rates.wait_s("a") for _ in range(60)] == [0.0] * 60
    assert rates.wait_s("a") == pytest.approx(1.0)
    assert rates.wait_s("b") == 0.0
    now[0] = 1.0
    assert rates.wait_s("a") == 0.0
    assert rates.wait_s("a") > 0


def test_rates_forget_callers_that_may_ask_at_once(monkeypatch):
    monkeypatch.setattr("jobs.api.access.rates.MOST_CALLERS", 2)
    now = [0.0]
    rates = Rates(60, lambda: now[0])
    for caller in "abcdef":
        now[0] += 10
        assert rates.wait_s(caller) == 0.0
    assert len(rates._buckets) <= 3


def test_who_asks_too_often_is_told_when_to_come_back(store, make_settings, token):
    had, seldom = token("read"), make_settings(api=Api(requests_per_minute=1))
    client = TestClient(make_app(store, seldom), base_url="http://127.0.0.1")
    assert client.get("/v1/models", headers=bearer(had)).status_code == 200
    answer = client.get("/v1/models", headers=bearer(had))
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "rate_limit_exceeded")
    assert int(answer.headers["retry-after"]) >= 1


def test_the_audit_says_who_did_what_and_no_secret(store, settings, token, caplog):
    caplog.set_level(logging.INFO, "zeroshift.audit")
    had = token("read")
    client = TestClient(make_app(store, settings), base_url="http://127.0.0.1")
    client.get("/v1/jobs?label=secret:value", headers=bearer(had))
    client.post("/v1/jobs", headers=bearer(had), content=b"{}")
    client.get("/v1/jobs", headers=bearer("zs_wrong_wrong"))
    client.get("/healthz")
    lines = [json.loads(each.message) for each in caplog.records]
    key_id = had.split("_")[1]
    assert [(each["who"], each["what"], each["status"]) for each in lines] == [
        (key_id, "GET /v1/jobs", 200),
        (key_id, "POST /v1/jobs", 403),
        (None, "GET /v1/jobs", 401),
    ]
    assert "secret" not in caplog.text
    assert had.rpartition("_")[2] not in caplog.text


def test_the_audit_has_who_was_refused_even_where_it_is_quiet_else(store, settings, token, caplog):
    caplog.set_level(logging.INFO, "zeroshift.audit")
    had = token("read")
    client = TestClient(make_app(store, settings), base_url="http://127.0.0.1")
    client.get("/metrics", headers=bearer(had))
    client.get("/metrics", headers=bearer("zs_wrong_wrong"))
    client.post("/live/jobs")
    lines = [json.loads(each.message) for each in caplog.records]
    assert [(each["what"], each["status"]) for each in lines] == [("GET /metrics", 401)]


def test_a_path_can_not_write_lines_into_the_audit(client, caplog):
    caplog.set_level(logging.INFO, "zeroshift.audit")
    client.get('/v1/jobs/%0a{"who": "admin"}')
    [record] = caplog.records
    assert len(record.message.splitlines()) == 1


def test_methods_that_nobody_knows_are_one_series(client):
    for number in range(5):
        client.request(f"ODD{number}", "/healthz")
    figures = client.get("/metrics").text
    assert 'method="other",route="/healthz",status="405"} 5.0' in figures
    assert "ODD" not in figures


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_refused(client, chunked):
    body = b"x" * (5 * 1024 * 1024)
    answer = client.post("/v1/jobs", content=iter([body]) if chunked else body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "request_too_large")


def test_figures_count_requests_by_their_route(client):
    client.get("/v1/jobs/x-0123456789ab")
    text = client.get("/metrics").text
    assert 'requests_total{method="GET",route="/v1/jobs/{job_id}",status="404"} 1.0' in text


def test_figures_of_elsewhere_stand_beside_the_servers_own(store, settings):
    from prometheus_client import CollectorRegistry, Gauge

    def registry_of(store, settings):
        registry = CollectorRegistry()
        Gauge("zeroshift_jobs_open", "x", registry=registry).set(3)
        return registry

    app = make_app(store, settings, registry_of=registry_of)
    client = TestClient(app, base_url="http://127.0.0.1")
    for _ in range(2):
        assert "zeroshift_jobs_open 3.0" in client.get("/metrics").text


def test_a_store_that_is_away_is_not_ready_and_still_healthy(client, store, monkeypatch):
    def away(store, bucket):
        raise UserError("away")

    monkeypatch.setattr(type(store), "check", away)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
    assert client.get("/healthz").status_code == 200


class TestCommand:
    """`zeroshift keys`."""

    @pytest.fixture
    def server(self, moto):
        """A store that a command can be told of in the environment."""
        return moto

    @pytest.fixture
    def run(self, here):
        def invoke(*arguments, status=0):
            found = CliRunner().invoke(command.app, ["keys", *arguments])
            assert found.exit_code == status, found.output
            return found

        return invoke

    def test_a_token_is_shown_once_and_works(self, run, ask):
        token = run("create", "ci", "--scope", "read").stdout.strip()
        assert ask(token).status_code == 200
        assert token not in run("list").output
        assert "sha256" not in run("list", "--json").stdout

    def test_keys_submit_and_read_by_default(self, run):
        made = json.loads(run("create", "ci", "--json").stdout)
        assert made["scopes"] == ["submit", "read"]

    def test_a_key_is_revoked_by_its_id(self, run, ask):
        made = json.loads(run("create", "ci", "--json").stdout)
        run("revoke", made["id"])
        assert ask(made["token"]).status_code == 401
        [listed] = json.loads(run("list", "--json").stdout)
        assert listed["revoked_at"] is not None

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("create", "ci", "--scope", "write"), "submit, read, admin"),
            (("create", " "), "name"),
            (("revoke", "none"), "no key"),
            (("revoke", "../x"), "no key"),
        ],
    )
    def test_a_mistake_is_one_line(self, run, arguments, said):
        found = run(*arguments, status=2)
        assert said in found.stderr
        assert len(found.stderr.splitlines()) == 1


def test_there_is_no_key_without_a_scope(store, bucket):
    with pytest.raises(UserError):
        create_key(store, bucket, "n", [], 1.0)
    with pytest.raises(NotFound):
        revoke_key(store, bucket, "abc", 1.0)
    assert list(store.list(Address(bucket, ""))) == []


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_balancers_that_ask_by_head_get_the_same_answer(client, path):
    asked, headed = client.get(path), client.head(path)
    assert (headed.status_code, headed.content) == (asked.status_code, b"") == (200, b"")
    assert headed.headers["content-length"] == str(len(asked.content))
