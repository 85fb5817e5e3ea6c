"""A store that tells the API of a closed folder starts its job, when it proves to be that store."""

import json

import pytest
from fastapi.testclient import TestClient

from jobs.addresses import Address
from jobs.api.app import make_app
from jobs.queue import queued
from jobs.settings.doors import Events, Rule

TOKEN = "token-of-sixteen-bytes"


@pytest.fixture
def client(store, make_settings, model, monkeypatch):
    monkeypatch.setenv("EVENTS_TOKEN", TOKEN)
    settings = make_settings(
        events=Events(token_variable="EVENTS_TOKEN"), rules=(Rule(prefix="inbox/", model=model),)
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
