"""What tests of the console share: its app over a store in memory, and who is signed in to it."""

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from jobs.api.access.keys import create_key
from jobs.api.app import add_routes, make_app
from jobs.console import CONSOLE
from jobs.settings.settings import Settings
from jobs.store.bucket import Store
from tests.served import _no_compiler, server, settings

__all__ = ["_no_compiler", "server", "settings"]  # fixtures for every test here

HOST = "http://127.0.0.1"


@pytest.fixture
def app(store: Store, settings: Settings) -> FastAPI:
    app = make_app(store, settings)
    add_routes(app, CONSOLE)
    return app


@pytest.fixture
def visitor(app: FastAPI) -> Callable[..., TestClient]:
    """Makes browsers: each has cookies of its own, and follows no redirect by itself."""
    return lambda base=HOST: TestClient(app, base_url=base, follow_redirects=False)


@pytest.fixture
def local(visitor: Callable[..., TestClient]) -> TestClient:
    """This machine, where there are no keys."""
    return visitor()


@pytest.fixture
def signed_in(
    store: Store, bucket: str, app: FastAPI, visitor: Callable[..., TestClient]
) -> Callable[..., TestClient]:
    """Makes a key with these scopes, and a browser that has signed in with it."""

    def make(*scopes: str) -> TestClient:
        _, token = create_key(store, bucket, "mine", scopes, time.time())
        app.state.context.keys._read_at = None  # else a new key is known after some seconds
        browser = visitor()
        answer = browser.post("/login", data={"key": token}, headers={"Origin": HOST})
        assert answer.status_code == 303, answer.text
        return browser

    return make


@pytest.fixture
def send() -> Callable[..., Any]:
    """Sends a form as a page of the console does, with the token that stands in `page`."""

    def post(browser: TestClient, address: str, page: str, **values: str) -> Any:
        found = re.search(r'name="token" value="([^"]+)"', browser.get(page).text)
        data = {"token": found.group(1) if found else "", **values}
        return browser.post(address, data=data, headers={"Origin": HOST})

    return post
