"""What tests of the API share: an app over a store in memory, and batches of its lines."""

import base64
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient
from PIL import Image

from jobs.api.app import make_app
from jobs.api.batch.work import BatchWork
from jobs.settings.settings import Settings
from jobs.store.bucket import Store
from tests.batch_lines import FORMAT
from tests.served import _no_compiler, server, settings

__all__ = ["_no_compiler", "server", "settings"]  # fixtures for every test here


@pytest.fixture
def client(store: Store, settings: Settings) -> TestClient:
    return TestClient(
        make_app(store, settings), base_url="http://127.0.0.1", raise_server_exceptions=False
    )


@pytest.fixture
def work(store: Store, settings: Settings) -> BatchWork:
    return BatchWork(store, settings)


@pytest.fixture
def png() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (56, 56), "grey").save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def data_url(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


@pytest.fixture
def body(model: str, data_url: str) -> Callable[..., dict[str, Any]]:
    """A request's body about some pictures, one by default."""

    def make(*urls: str, text: str = "Is it ok?", **more: Any) -> dict[str, Any]:
        images = [{"type": "image_url", "image_url": {"url": url}} for url in urls or (data_url,)]
        content = [{"type": "text", "text": text}, *images]
        messages = [{"role": "user", "content": content}]
        return {"model": model, "messages": messages, "response_format": FORMAT, **more}

    return make


@pytest.fixture
def upload(client: TestClient) -> Callable[..., str]:
    """Uploads lines as a file; answers its id."""

    def put(*lines: str) -> str:
        files = {"file": ("in.jsonl", "\n".join(lines).encode())}
        answer = client.post("/v1/files", files=files, data={"purpose": "batch"})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["id"])

    return put


@pytest.fixture
def batch_of(client: TestClient, upload: Callable[..., str]) -> Callable[..., str]:
    """Makes a batch of lines; answers its id."""

    def make(*lines: str, **more: Any) -> str:
        wanted = {"input_file_id": upload(*lines), "endpoint": "/v1/chat/completions"}
        answer = client.post("/v1/batches", json={"completion_window": "24h", **wanted, **more})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["id"])

    return make


@pytest.fixture
def lines_in(client: TestClient) -> Callable[[str | None], list[dict[str, Any]]]:
    """The lines of a file, none without a file."""

    def read(file_id: str | None) -> list[dict[str, Any]]:
        if file_id is None:
            return []
        text = client.get(f"/v1/files/{file_id}/content").text
        return [json.loads(each) for each in text.splitlines()]

    return read
