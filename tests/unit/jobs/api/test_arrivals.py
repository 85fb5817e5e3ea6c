"""A store that tells the API of a closed folder starts its job, when it proves to be that store."""

import asyncio
import json

import pytest
from fastapi.testclient import TestClient

from jobs.addresses import Address
from jobs.api import arrivals
from jobs.api.app import make_app
from jobs.queue import queued
from jobs.settings.doors import Events, Rule

TOKEN = "token-of-sixteen-bytes"


@pytest.fixture
def client(store, make_settings, model, monkeypatch):
    monkeypatch.setenv("EVENTS_TOKEN", TOKEN)
    settings = make_settings(
        events=Events(token_variable="EVENTS_TOKEN", max_body_bytes=5000),
        rules=(Rule(prefix="inbox/", model=model),),
    )
    return TestClient(make_app(store, settings), base_url="http://127.0.0.1")


@pytest.fixture
def told(bucket, put_pictures, store):
    """What MinIO says when the last object of a folder has been put."""
    put_pictures(2, prefix="inbox/a/")
    store.write(Address(bucket, "inbox/a/_SUCCESS"), b"")
    thing = {"bucket": {"name": bucket}, "object": {"key": "inbox%2Fa%2F_SUCCESS", "size": 0}}
    name = "s3:ObjectCreated:Put"
    return json.dumps({"Records": [{"eventSource": "minio:s3", "eventName": name, "s3": thing}]})


def test_a_told_folder_is_one_job_however_often_it_is_told(client, told, store, bucket):
    said = [
        client.post("/events", content=told, headers={"Authorization": f"Bearer {TOKEN}"})
        for _ in range(3)
    ]
    assert [each.status_code for each in said] == [200, 200, 200]
    [job] = queued(store, bucket)
    assert [each.json()["jobs"] for each in said] == [[job], [], []]


def test_who_does_not_know_the_token_starts_nothing(client, told, store, bucket):
    said = client.post("/events", content=told, headers={"Authorization": "Bearer of-nothing"})
    assert said.status_code == 401
    assert said.json()["error"]["message"] == "the bearer token is missing or wrong"
    assert list(queued(store, bucket)) == []


def test_a_store_that_knocks_before_it_sends_learns_that_somebody_is_there(client):
    """MinIO asks with HEAD; any answer is one to it."""
    assert client.head("/events").status_code == 405


def test_a_large_body_is_refused_whether_or_not_its_length_is_told(client):
    headers = {"Authorization": f"Bearer {TOKEN}"}
    for content in (b"x" * 5001, (b"x" * 1000 for _ in range(6))):
        said = client.post("/events", content=content, headers=headers)
        assert (said.status_code, said.json()["error"]["message"]) == (
            413,
            "body of more than 5000 bytes",
        )


def ask(client, receive, authorization):
    """The status of a request whose body `receive` gives, as a server would ask for it."""
    sent = []

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/events",
        "query_string": b"",
        "headers": [(b"authorization", authorization.encode())],
    }
    asyncio.run(client.app(scope, receive, send))
    return sent[0]["status"]


async def never():
    await asyncio.Event().wait()


async def gone():
    return {"type": "http.disconnect"}


async def unasked():
    raise AssertionError("the body was asked for")


@pytest.mark.parametrize(
    ("receive", "token", "status"), [(never, TOKEN, 408), (gone, TOKEN, 400), (unasked, "x", 401)]
)
def test_a_body_is_waited_for_a_while_and_only_of_who_knows_the_token(
    client, monkeypatch, receive, token, status
):
    monkeypatch.setattr(arrivals, "BODY_S", 0.05)
    assert ask(client, receive, f"Bearer {token}") == status
