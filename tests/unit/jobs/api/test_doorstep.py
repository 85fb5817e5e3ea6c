"""Who comes early is let in as soon as what he asks for is there."""

import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from fastapi import FastAPI

from jobs.api.doorstep import roots_of
from jobs.api.serving import Server


@pytest.fixture
def server():
    with Server("127.0.0.1", 0) as server:
        yield server


@pytest.fixture
def app():
    app = FastAPI()

    @app.get("/v1/jobs")
    def jobs() -> str:
        return "jobs"

    return app


def get(server, path):
    return httpx.get(server.url + path, timeout=60)


def test_who_asks_before_there_is_an_app_is_answered_when_it_is_there(server, app):
    with ThreadPoolExecutor() as pool:
        early = pool.submit(get, server, "/v1/jobs")
        assert get(server, "/healthz").json() == {"status": "ok"}
        assert httpx.head(f"{server.url}/healthz", timeout=60).status_code == 200
        assert not early.done()
        server.doorstep.open(app)
        assert early.result().json() == "jobs"


def test_the_api_answers_while_pages_are_still_to_come(server, app):
    server.doorstep.open(app, roots_of(app))
    assert get(server, "/v1/jobs").json() == "jobs"
    assert get(server, "/v1/nothing").status_code == 404
    with ThreadPoolExecutor() as pool:
        early = pool.submit(get, server, "/costs")
        assert get(server, "/v1/jobs").json() == "jobs"
        assert not early.done()
        app.get("/costs")(lambda: "costs")
        server.doorstep.open(app)
        assert early.result().json() == "costs"


def test_who_waits_is_sent_away_when_there_will_be_nothing(server):
    asked = threading.Event()

    def ask():
        asked.set()
        return get(server, "/v1/jobs")

    with ThreadPoolExecutor() as pool:
        early = pool.submit(ask)
        asked.wait(60)
        server.doorstep.close()
        assert early.result().status_code == 503
