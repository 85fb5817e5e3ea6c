"""Bodies that can't be read, and senders that go: one clear line, and never a fault of ours."""

import asyncio

import pytest

from jobs.api.app import make_app
from jobs.api.batch.file_record import files_root

JSON = "application/json"


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        (b"{}", "text/plain", "Content-Type: allowed: application/json"),
        (b"<a/>", "application/xml", "Content-Type: allowed: application/json"),
        (b"a=b", "application/x-www-form-urlencoded", "Content-Type: allowed: application/json"),
        (b'{"a": "\xff"}', JSON, "not UTF-8 text"),
        (b"[" * 50_000, JSON, "nested too deeply"),
        (b"9" * 5_000, JSON, "too many digits"),
        (b"hello", JSON, "not JSON"),
    ],
)
def test_a_batch_that_can_not_be_read_is_told_why(client, body, kind, said):
    answer = client.post("/v1/batches", content=body, headers={"Content-Type": kind})
    assert answer.status_code == 400
    assert said in answer.json()["error"]["message"]


@pytest.mark.parametrize("path", ["/v1/files", "/v1/jobs", "/v1/batches"])
def test_a_sender_that_goes_is_no_fault_of_ours(store, settings, bucket, path):
    app = make_app(store, settings)
    kind = b"multipart/form-data; boundary=b" if path == "/v1/files" else JSON.encode()
    headers = [(b"host", b"127.0.0.1"), (b"content-type", kind), (b"content-length", b"99")]
    scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode()}
    scope |= {"headers": headers, "query_string": b"", "client": ("127.0.0.1", 1)}
    scope |= {"scheme": "http", "server": ("127.0.0.1", 1), "http_version": "1.1"}
    coming = iter([{"type": "http.request", "body": b"--b\r\n", "more_body": True}])
    sent = []

    async def receive():
        return next(coming, {"type": "http.disconnect"})

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 400
    assert app.state.context.counts.requests == {("POST", path, 400): 1}
    assert list(store.list(files_root(bucket))) == []
