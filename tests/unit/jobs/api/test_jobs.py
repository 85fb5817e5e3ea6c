"""Jobs over HTTP: the same manifests and the same lines as at the command line."""

import asyncio
import json

import pytest

from jobs.addresses import JobPaths
from jobs.api.events import event_id, events_of
from jobs.api.shelf import SETTLED_S, Shelf
from jobs.queue import queued
from jobs.record import Counts, RecordFile
from jobs.states import State


@pytest.fixture
def manifest(bucket, model, put_pictures):
    put_pictures(2)
    return {"inputs": {"prefix": f"s3://{bucket}/in/"}, "model": model}


@pytest.fixture
def create(client, manifest):
    """Creates a job; answers the response."""

    def do(headers=None, **changes):
        return client.post("/v1/jobs", json={**manifest, **changes}, headers=headers or {})

    return do


@pytest.fixture
def ended(create, controller):
    """A job that has been worked."""
    job = create().json()["job"]
    worker = controller()
    worker.look()
    worker.leave()
    return job["job_id"]


@pytest.fixture
def change(store, bucket):
    def do(job_id, change):
        return RecordFile(store, JobPaths.of(bucket, job_id)).change(change)

    return do


def test_a_manifest_becomes_a_job(create, client, store, bucket):
    answer = create(labels={"line": "4"})
    assert (answer.status_code, answer.json()["created"]) == (201, True)
    job_id = answer.json()["job"]["job_id"]
    assert queued(store, bucket) == [job_id]
    assert client.get(answer.headers["location"]).json()["labels"] == {"line": "4"}


def test_the_same_request_twice_is_one_job(create):
    first, second = create(), create()
    assert (second.status_code, second.json()["created"]) == (200, False)
    assert first.json()["job"]["job_id"] == second.json()["job"]["job_id"]


def test_a_key_makes_two_requests_one_job(create, client):
    headers = {"Idempotency-Key": "k1"}
    first, second = create(headers), create(headers)
    assert first.json()["job"] == second.json()["job"]
    other = create({"Idempotency-Key": "k2"})
    assert (other.status_code, other.json()["created"]) == (201, True)
    reused = create(headers, sampling={"seed": 2})
    assert reused.status_code == 409
    assert reused.json()["error"]["code"] == "idempotency_key_reused"
    both = create(headers, idempotency_key="k3")
    assert both.status_code == 400


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"modle": "x"}, "did you mean 'model'"),
        ({"model": "/etc"}, "folder of the server"),
        ({"model": "."}, "folder of the server"),
        ({"model": "~root/x"}, "folder of the server"),
        ({"model": "a" * 5000}, "model"),
        ({"model": "a\0b"}, "model"),
        ({"task": {"prompt": "x", "schema": "os:environ"}}, "imported by the server"),
        ({"output": "s3://BUCKET/zeroshift/keys/"}, "Zeroshift's own"),
        ({"inputs": {"index": "s3://BUCKET/zeroshift/batches/x.jsonl"}}, "Zeroshift's own"),
        ({"inputs": {"keys": ["s3://BUCKET/zeroshift/keys/x.json"]}}, "inputs.keys[0]"),
        ({"inputs": {"prefix": "s3://BUCKET/none/"}}, "nothing is there"),
        ({"hardware": {"offer": "auto"}}, "not raised yet"),
        ({"webhook": "https://evil.example/"}, "webhook.allowed"),
    ],
)
def test_a_wrong_manifest_is_one_line_and_no_job(create, store, bucket, changes, said):
    changes = json.loads(json.dumps(changes).replace("BUCKET", bucket))
    answer = create(**changes)
    assert answer.status_code == 400
    assert said in answer.json()["error"]["message"]
    assert queued(store, bucket) == []


def test_lists_have_the_newest_first_and_can_be_narrowed(create, client):
    made = [
        create(name=f"j{n}", labels={"n": str(n % 2)}).json()["job"]["job_id"] for n in range(3)
    ]
    client.post(f"/v1/jobs/{made[0]}/cancel")

    def listed(**query):
        return [each["job_id"] for each in client.get("/v1/jobs", params=query).json()["data"]]

    assert listed() == made[::-1]
    assert listed(state="cancelled") == [made[0]]
    assert listed(state=["cancelled", "queued"], label="n:0") == [made[2], made[0]]
    assert listed(limit=1, after=made[2]) == [made[1]]
    assert client.get("/v1/jobs", params={"label": "n"}).status_code == 400
    assert client.get("/v1/jobs", params={"state": "asleep"}).status_code == 400


def test_a_list_reads_what_has_settled_once(create, client, store, bucket, monkeypatch, change):
    job_id = create().json()["job"]["job_id"]
    change(job_id, lambda old: old.moved(State.CANCELLED, 5.0))
    now = [5.0]
    shelf = Shelf(store, bucket, 1.0, lambda: now[0])
    reads, load = [], Shelf.load
    monkeypatch.setattr(Shelf, "load", lambda self, job: reads.append(job) or load(self, job))
    shelf.all()
    shelf.all()
    assert len(reads) == 2  # the final bill may be on its way
    now[0] += SETTLED_S + 1
    shelf.all()
    shelf.all()
    assert len(reads) == 3


def test_rows_are_a_stream_once_the_job_has_ended(create, client, ended):
    answer = client.get(f"/v1/jobs/{ended}/rows")
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert [json.loads(each)["status"] for each in answer.text.splitlines()] == ["ok", "ok"]
    receipt = client.get(f"/v1/jobs/{ended}/receipt").json()
    assert (receipt["job_id"], receipt["images"]) == (ended, 2)


def test_before_the_end_there_are_no_rows_and_no_receipt(create, client):
    job_id = create().json()["job"]["job_id"]
    assert client.get(f"/v1/jobs/{job_id}/rows").status_code == 409
    assert client.get(f"/v1/jobs/{job_id}/receipt").status_code == 404


def test_a_job_is_cancelled(create, client, store, bucket):
    job_id = create().json()["job"]["job_id"]
    assert client.post(f"/v1/jobs/{job_id}/cancel").json()["state"] == "cancelled"
    assert queued(store, bucket) == []


@pytest.mark.parametrize("job_id", ["x", "none-0123456789ab", "..", "%2e%2e%2fkeys"])
@pytest.mark.parametrize("what", ["", "/rows", "/receipt", "/events"])
def test_a_job_that_is_not_there_is_not_found(client, job_id, what):
    assert client.get(f"/v1/jobs/{job_id}{what}").status_code == 404


def of(text):
    """Events as pairs of kind and data."""
    blocks = [block.splitlines() for block in text.split("\n\n") if "event:" in block]
    return [(block[1][7:], json.loads(block[2][6:])) for block in blocks]


def test_events_end_with_the_job_and_are_over_for_who_saw_the_last(client, ended):
    answer = client.get(f"/v1/jobs/{ended}/events")
    [(kind, shown)] = of(answer.text)
    assert (kind, shown["state"], shown["ended"]) == ("state", "completed", True)
    last = answer.text.partition("id: ")[2].partition("\n")[0]
    again = client.get(f"/v1/jobs/{ended}/events", headers={"Last-Event-ID": last})
    assert again.status_code == 204


def test_events_tell_of_states_and_progress_apart(create, store, bucket, change):
    job_id = create().json()["job"]["job_id"]
    shelf = Shelf(store, bucket, 0.0)
    steps = iter(
        [
            lambda old: old.moved(State.PLANNING, 1.0),
            lambda old: old.model_copy(update={"counts": Counts(total=2, done=1)}),
            lambda old: old,
            lambda old: old.moved(State.CANCELLED, 2.0),
        ]
    )

    async def listen():
        found = []
        async for text in events_of(shelf, job_id, 0.0, None):
            found.append(text)
            step = next(steps, None)
            if step:
                change(job_id, step)
                if len(found) == 3:
                    change(job_id, next(steps))
        return "".join(found)

    found = of(asyncio.run(listen()))
    assert [(kind, shown["state"]) for kind, shown in found] == [
        ("state", "planning"),
        ("progress", "planning"),
        ("state", "cancelled"),
    ]


def test_who_comes_back_hears_only_what_is_new(create, store, bucket, change):
    job_id = create().json()["job"]["job_id"]
    shelf = Shelf(store, bucket, 0.0)
    seen = event_id(change(job_id, lambda old: old.moved(State.PLANNING, 1.0)))
    counted = {"counts": Counts(total=2, done=2)}
    change(job_id, lambda old: old.moved(State.FAILED, 2.0).model_copy(update=counted))

    async def listen(last):
        return of("".join([text async for text in events_of(shelf, job_id, 0.0, last)]))

    assert [kind for kind, _ in asyncio.run(listen(seen))] == ["state"]


def test_the_record_is_read_once_for_all_who_listen(create, store, bucket, monkeypatch):
    job_id = create().json()["job"]["job_id"]
    now = [0.0]
    shelf = Shelf(store, bucket, 1.0, lambda: now[0])
    reads, load = [], Shelf.load
    monkeypatch.setattr(Shelf, "load", lambda self, job: reads.append(job) or load(self, job))
    for _ in range(50):
        shelf.watched(job_id)
    assert len(reads) == 1
    now[0] = 1.5
    shelf.watched(job_id)
    assert len(reads) == 2


def test_a_bug_is_told_without_its_details(client, monkeypatch):
    def bug(shelf):
        raise RuntimeError("a secret of the implementation")

    monkeypatch.setattr(Shelf, "all", bug)
    answer = client.get("/v1/jobs")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")
    assert "secret" not in answer.text
