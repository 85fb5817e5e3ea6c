"""The OpenAPI document tells the truth, and no request of its form breaks the server."""

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error

from jobs.addresses import JobPaths
from jobs.api.app import make_app
from jobs.api.batch.file_record import File, content_of, save_file
from jobs.api.batch.record import Batch, batch_document
from jobs.record import Record, RecordFile
from jobs.settings.api import Api
from jobs.settings.settings import Settings
from jobs.states import State
from jobs.store.memory import MemoryStore

BUCKET = "b-openapi"
THERE = {
    "job_id": "line-4-0123456789ab",
    "file_id": f"file-{'0' * 28}",
    "batch_id": f"batch_{'0' * 28}",
    "model": "zeroshift/parts-inspector",
}


def app():
    """The app over a bucket with one of each thing."""
    store = MemoryStore()
    store.make_bucket(BUCKET)
    job = THERE["job_id"]
    record = Record(job_id=job, created_at=1.0, output=f"s3://{BUCKET}/out/", model="m")
    ended = record.moved(State.CANCELLED, 2.0, "cancelled by the user")
    RecordFile(store, JobPaths.of(BUCKET, job)).create(ended)
    file_id, batch_id = THERE["file_id"], THERE["batch_id"]
    store.write(content_of(BUCKET, file_id), b"{}")
    save_file(
        store,
        BUCKET,
        File(id=file_id, bytes=2, created_at=1, filename="in.jsonl", purpose="batch"),
    )
    batch = Batch(
        id=batch_id,
        endpoint="/v1/chat/completions",
        input_file_id=file_id,
        completion_window="24h",
        at={"created": 1, "expires": 86401},
    )
    batch_document(store, BUCKET, batch_id).create(batch)
    many = Api(requests_per_minute=10**6)
    return make_app(store, Settings(bucket=BUCKET, poll_s=0.01, api=many))


schema = schemathesis.openapi.from_asgi("/openapi.json", app())


@schema.hook
def map_path_parameters(context, path_parameters):
    """Every other id is one that there is, and stays."""
    if context.operation.method.upper() == "DELETE":
        return path_parameters
    return {
        name: THERE[name] if isinstance(value, str) and len(value) % 2 else value
        for name, value in (path_parameters or {}).items()
    }


@schema.parametrize()
@settings(
    max_examples=12,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
def test_no_request_breaks_the_server(case):
    response = case.call(base_url="http://127.0.0.1")
    case.validate_response(response, checks=(not_a_server_error,))
    if response.status_code >= 400 and case.method != "HEAD":
        assert set(response.json()["error"]) == {"message", "type", "param", "code"}


def test_the_document_holds_the_manifest_with_references_that_lead_somewhere(client):
    document = client.get("/openapi.json").json()
    names = set(document["components"]["schemas"])
    assert {"Manifest", "Inputs", "Record", "BatchObject"} <= names
    used = {
        text.rpartition("/")[2]
        for text in references(document)
        if text.startswith("#/components/schemas/")
    }
    assert used <= names
    assert not [text for text in references(document) if "$defs" in text]


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/batches"])
def test_what_is_posted_has_an_example(client, path):
    document = client.get("/openapi.json").json()
    content = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]
    name = content["schema"].get("$ref", "").rpartition("/")[2]
    assert content.get("example") or document["components"]["schemas"][name]["example"]


def test_the_page_shows_every_request_and_fetches_nothing(client):
    page = client.get("/docs")
    document = client.get("/openapi.json").json()
    for path, methods in document["paths"].items():
        for method in methods:
            assert f"{method.upper()} {path}" in page.text
    assert "curl -X POST http://127.0.0.1/v1/batches" in page.text
    assert "<script" not in page.text
    assert "https://" not in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")


def references(node):
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref":
                yield value
            else:
                yield from references(value)
    elif isinstance(node, list):
        for each in node:
            yield from references(each)
