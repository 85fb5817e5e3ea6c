"""Nobody sees a page without a key, nor changes anything from elsewhere than a page of ours."""

import time

import pytest

from jobs.addresses import JobPaths
from jobs.api.access.guard import ANYBODY
from jobs.api.access.keys import all_keys, create_key, revoke_key
from jobs.console.sessions import LASTS_S, MOST, Sessions
from jobs.record import RecordFile
from tests.unit.jobs.console.conftest import HOST

PAGES = ("/", "/clusters", "/costs", "/jobs/j-0123456789ab", "/jobs/j-0123456789ab/report/")


@pytest.fixture
def token(store, bucket) -> str:
    return create_key(store, bucket, "mine", ["read"], time.time())[1]


@pytest.fixture
def job(submitted, put_pictures) -> str:
    put_pictures(1)
    return submitted().job_id


@pytest.mark.parametrize("path", PAGES)
def test_with_keys_every_page_asks_to_sign_in_first(token, visitor, path):
    answer = visitor().get(path)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/login?next={path}")


def test_a_key_opens_a_session_whose_cookie_is_for_this_site_alone(token, visitor):
    browser = visitor()
    answer = browser.post("/login", data={"key": token}, headers={"Origin": HOST})
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert token not in cookie
    assert browser.get("/").status_code == 200


def test_over_https_the_cookie_is_never_sent_without(token, visitor):
    there = "https://127.0.0.1"
    answer = visitor(there).post("/login", data={"key": token}, headers={"Origin": there})
    assert "Secure" in answer.headers["set-cookie"]


def test_a_wrong_key_is_refused_and_not_repeated(token, visitor):
    answer = visitor().post("/login", data={"key": "zs_x_secret"}, headers={"Origin": HOST})
    assert answer.status_code == 401
    assert "No such key" in answer.text
    assert "zs_x_secret" not in answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("scope", ["submit"])
def test_a_key_that_may_not_read_opens_nothing(store, bucket, visitor, scope):
    _, token = create_key(store, bucket, "writer", [scope], time.time())
    answer = visitor().post("/login", data={"key": token}, headers={"Origin": HOST})
    assert answer.status_code == 401


def test_a_revoked_key_ends_its_sessions(store, bucket, signed_in, app):
    browser = signed_in("read")
    [key] = all_keys(store, bucket)
    revoke_key(store, bucket, key.id, time.time())
    app.state.context.keys._read_at = None  # as after five seconds
    assert browser.get("/").status_code == 303


def test_whoever_signs_in_comes_back_to_the_page_with_what_it_was_asked(token, visitor):
    browser = visitor()
    asked = browser.get("/?show=ended&start=100")
    assert asked.headers["location"] == "/login?next=/%3Fshow%3Dended%26start%3D100"
    door = browser.get(asked.headers["location"]).text
    assert 'name="next" value="/?show=ended&amp;start=100"' in door
    data = {"key": token, "next": "/?show=ended&start=100"}
    answer = browser.post("/login", data=data, headers={"Origin": HOST})
    assert answer.headers["location"] == "/?show=ended&start=100"


def test_after_a_restart_the_door_says_why_and_leads_back_and_nothing_was_done(
    store, bucket, signed_in, app, job
):
    browser = signed_in("read", "submit")
    token = _token(browser, job)
    del app.state.sessions  # they are this process's
    asked = browser.post(f"/jobs/{job}/cancel", data={"token": token}, headers={"Origin": HOST})
    assert asked.headers["location"] == f"/login?next=/jobs/{job}&over=1"
    door = browser.get(asked.headers["location"]).text
    assert "Your session is over" in door
    assert f'value="/jobs/{job}"' in door
    assert not RecordFile(store, JobPaths.of(bucket, job)).load().state.ended
    assert browser.get("/live/jobs", headers={"X-Live": "1"}).status_code == 401
    assert "Your session is over" not in browser.get("/login").text


def test_a_form_that_is_too_old_leads_back_to_its_page(signed_in, job):
    browser = signed_in("read", "submit")
    answer = browser.post(f"/jobs/{job}/cancel", data={"token": "old"}, headers={"Origin": HOST})
    assert answer.status_code == 403
    assert "nothing was changed" in answer.text
    assert f'href="/jobs/{job}"' in answer.text


def test_signing_out_ends_the_session(signed_in, send):
    browser = signed_in("read")
    assert send(browser, "/logout", "/").status_code == 303
    assert browser.get("/").headers["location"].startswith("/login")


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "javascript:1",
        "/a?b=//evil",
    ],
)
def test_after_signing_in_nobody_is_sent_elsewhere(token, visitor, elsewhere):
    data = {"key": token, "next": elsewhere}
    answer = visitor().post("/login", data=data, headers={"Origin": HOST})
    assert answer.headers["location"] == "/"


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://["},
        {},
    ],
)
def test_a_request_from_elsewhere_changes_nothing(store, bucket, signed_in, token, job, headers):
    browser = signed_in("read", "submit")
    form = {"token": _token(browser, job)}
    answer = browser.post(f"/jobs/{job}/cancel", data=form, headers=headers)
    assert answer.status_code == 403
    assert not RecordFile(store, JobPaths.of(bucket, job)).load().state.ended
    assert browser.post("/login", data={"key": token}, headers=headers).status_code == 403


@pytest.mark.parametrize(
    "token", ["", "wrong", "\ud800".encode("utf-8", "surrogatepass").decode("latin1")]
)
def test_without_the_token_of_the_page_nothing_changes(store, bucket, signed_in, job, token):
    browser = signed_in("read", "submit")
    answer = browser.post(f"/jobs/{job}/cancel", data={"token": token}, headers={"Origin": HOST})
    assert answer.status_code == 403
    assert not RecordFile(store, JobPaths.of(bucket, job)).load().state.ended


def test_a_token_of_another_session_is_none(signed_in, job):
    one, other = signed_in("read", "submit"), signed_in("read", "submit")
    data = {"token": _token(other, job)}
    answer = one.post(f"/jobs/{job}/cancel", data=data, headers={"Origin": HOST})
    assert answer.status_code == 403


def test_who_may_only_read_sees_no_button_and_can_not_do_without(signed_in, send, job):
    browser = signed_in("read")
    assert "data-open" not in browser.get(f"/jobs/{job}").text
    assert send(browser, f"/jobs/{job}/cancel", "/").status_code == 403


def test_without_keys_this_machine_is_let_in_and_no_other(visitor):
    assert visitor().get("/").status_code == 200
    assert visitor("http://evil.example").get("/").status_code == 403
    assert visitor().get("/", headers={"Origin": "http://evil.example"}).status_code == 403
    assert visitor().get("/login").headers["location"] == "/"


def test_a_session_of_this_machine_is_worth_nothing_once_there_is_a_key(local, store, bucket, app):
    assert local.get("/").status_code == 200
    create_key(store, bucket, "first", ["read"], time.time())
    app.state.context.keys._read_at = None
    assert local.get("/").status_code == 303


def test_sessions_end_after_their_time_and_the_oldest_goes_first():
    now = [0.0]
    sessions = Sessions(lambda: now[0])
    key = ANYBODY
    first = sessions.start(key)
    assert sessions.find(first.id) == first
    for _ in range(MOST):
        last = sessions.start(key)
    assert sessions.find(first.id) is None
    now[0] = LASTS_S + 1
    assert sessions.find(last.id) is None
    assert sessions.find(None) is None


def test_pages_are_allowed_little_and_kept_nowhere(local):
    headers = local.get("/").headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"


def test_too_many_requests_are_told_to_wait(local, app):
    local.get("/")
    app.state.context.rates.wait_s = lambda caller: 1.0
    assert local.get("/").status_code == 429


def _token(browser, job: str) -> str:
    page = browser.get(f"/jobs/{job}").text
    return page.partition('name="token" value="')[2].partition('"')[0]


@pytest.mark.parametrize(
    ("data", "said"),
    [({}, "key: missing"), ({"key": "a" * 501}, "allowed: at most 500 characters")],
)
def test_a_form_that_can_not_be_is_told_in_our_words(visitor, data, said):
    answer = visitor().post("/login", data=data, headers={"Origin": HOST})
    assert answer.status_code == 400
    assert said in answer.text
