"""What is asked of a real server, and what became of it: batches of OpenAI's own client."""

import base64
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openai

from demo.batch import shots
from jobs.addresses import Address
from jobs.tasks.inspection import inspection
from tests.batch_lines import line
from tests.integration.serving_for_real import BUCKET, Served

DOCS = Path(__file__).parents[2] / "docs/api.md"
MODEL, TASK = "zeroshift/parts-inspector", inspection()
FORM = {"type": "json_schema", "json_schema": {"name": "inspection", "schema": TASK.schema}}
INBOX = Address(BUCKET, "inbox/night/")
ENDED = ("completed", "failed", "expired", "cancelled")


def body(url: str, **more: Any) -> dict[str, Any]:
    """The inspection's question about one picture."""
    text = {"type": "text", "text": TASK.prompt}
    content = [text, {"type": "image_url", "image_url": {"url": url}}]
    return {"model": MODEL, "messages": [{"role": "user", "content": content}], **more}


def data_url(picture: bytes, media_type: str) -> str:
    return f"data:{media_type};base64,{base64.b64encode(picture).decode()}"


def lines() -> dict[str, str]:
    """Twelve lines: eight to be answered, four that can't be."""
    names = [shot.name for shot in shots(4, 710_000)]
    here = [data_url(shot.body, shot.media_type) for shot in shots(4, 720_000)]
    stored = [str(INBOX / name) for name in names]
    bodies = {f"sent-{n}": body(url, response_format=FORM) for n, url in enumerate(here)}
    bodies |= {f"stored-{n}": body(url, response_format=FORM) for n, url in enumerate(stored[:3])}
    bodies |= {
        "text": body(stored[3], max_tokens=40),
        "broken": body(data_url(b"no picture", "image/png"), response_format=FORM),
        "elsewhere": body("https://127.0.0.1/1.png", response_format=FORM),
        "unknown": body(stored[0]) | {"model": "gpt-4o"},
        "no-messages": {"model": MODEL},
    }
    return {name: line(name, body) for name, body in bodies.items()}


def client_of(served: Served) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{served.url}/v1", api_key=served.key)


def created(client: openai.OpenAI, text: str) -> Any:
    file = client.files.create(file=("questions.jsonl", text.encode()), purpose="batch")
    return client.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
    )


@dataclass(frozen=True)
class Done:
    """A batch that has ended, with its lines by custom id."""

    batch: Any
    output: dict[str, Any]
    errors: dict[str, Any]


def ended(served: Served, client: openai.OpenAI, batch: Any) -> Done:
    def look() -> Any:
        found = client.batches.retrieve(batch.id)
        return found if found.status in ENDED else None

    found = served.until(look)
    return Done(
        found, *(read(client, each) for each in (found.output_file_id, found.error_file_id))
    )


def read(client: openai.OpenAI, file: str | None) -> dict[str, Any]:
    """A file's lines by custom id, each there once."""
    texts = client.files.content(file).text.splitlines() if file else []
    found = [json.loads(each) for each in texts]
    by_id = {each["custom_id"]: each for each in found}
    assert len(by_id) == len(found)
    return by_id


def example_of_docs(served: Served) -> "subprocess.Popen[str]":
    """The example of the docs as it stands there, in a process of its own."""
    code = re.search(r"```python\n(import base64.*?)```", DOCS.read_text(), re.DOTALL)
    assert code, DOCS
    (served.folder / "parts").mkdir()
    for shot in shots(4, 730_000):
        if shot.name.endswith("jpg"):
            (served.folder / "parts" / shot.name).write_bytes(shot.body)
    client = {"OPENAI_BASE_URL": f"{served.url}/v1", "OPENAI_API_KEY": served.key}
    return subprocess.Popen(
        [sys.executable, "-c", code[1]],
        env={**os.environ, **client},
        cwd=served.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
