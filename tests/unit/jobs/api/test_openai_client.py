"""OpenAI's own client, told another base URL and nothing else, runs a batch."""

import io
import json
import threading

import openai
import pytest

from jobs.api.app import make_app
from jobs.api.batch.work import BatchWork
from jobs.api.serving import Server
from jobs.lease import Rounds
from tests.batch_lines import line


@pytest.fixture
def served(store, settings, controller):
    """A whole process: server, batches, controller; its address."""
    stop = threading.Event()
    worker = threading.Thread(target=controller().watch, args=(stop,))
    with Server("127.0.0.1", 0) as server:
        server.doorstep.open(make_app(store, settings))
        worker.start()
        try:
            with Rounds(BatchWork(store, settings).round, 0.02, "batches"):
                yield server.url
        finally:
            stop.set()
            worker.join()


@pytest.fixture
def client(served):
    with openai.OpenAI(base_url=f"{served}/v1", api_key="not needed here") as client:
        yield client


def ended(client, batch):
    for _ in range(2000):
        batch = client.batches.retrieve(batch.id)
        if batch.status in ("completed", "failed", "expired", "cancelled"):
            return batch
        threading.Event().wait(0.02)  # a client polls, as OpenAI's documentation says
    raise AssertionError(f"still {batch.status}")


def test_a_batch_runs_from_upload_to_output_file(client, body, model):
    lines = [line("one", body()), line("two", body(text="Sure?")), line("three", body(n=3))]
    upload = client.files.create(
        file=("in.jsonl", io.BytesIO("\n".join(lines).encode())), purpose="batch"
    )
    assert client.files.retrieve(upload.id).status == "processed"
    batch = client.batches.create(
        input_file_id=upload.id,
        endpoint="/v1/chat/completions",
        completion_window="24h",
        metadata={"line": "4"},
    )
    assert batch.status == "validating"
    batch = ended(client, batch)
    assert (batch.status, batch.model, batch.metadata) == ("completed", model, {"line": "4"})
    assert batch.request_counts.to_dict() == {"total": 3, "completed": 2, "failed": 1}
    answers = [json.loads(each) for each in client.files.content(batch.output_file_id).iter_lines()]
    assert sorted(each["custom_id"] for each in answers) == ["one", "two"]
    for each in answers:
        said = openai.types.chat.ChatCompletion.model_validate(each["response"]["body"])
        assert json.loads(said.choices[0].message.content) == {"verdict": "ok"}
        assert said.usage.completion_tokens > 0
    [error] = client.files.content(batch.error_file_id).text.splitlines()
    assert json.loads(error)["response"]["body"]["error"]["param"] == "n"


def test_lists_are_read_page_by_page(client, body):
    made = []
    for _ in range(3):
        file = client.files.create(file=("x.jsonl", line("a", body()).encode()), purpose="batch")
        made.append(file.id)
    assert [each.id for each in client.files.list(limit=2)] == made[::-1]
    assert client.files.delete(made[0]).deleted
    assert [each.id for each in client.files.list(order="asc")] == made[1:]


def test_models_are_listed(client, model):
    assert [each.id for each in client.models.list()] == [model]


def test_errors_are_the_clients_own(client):
    with pytest.raises(openai.NotFoundError):
        client.files.retrieve("file-0123456789abcdef")
    with pytest.raises(openai.BadRequestError, match="input_file_id"):
        client.batches.create(
            input_file_id="file-0123456789abcdef",
            endpoint="/v1/chat/completions",
            completion_window="24h",
        )
    with pytest.raises(openai.BadRequestError, match="purpose"):
        client.files.create(file=("x", b"x"), purpose="fine-tune")
