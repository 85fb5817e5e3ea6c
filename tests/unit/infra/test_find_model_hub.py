"""Models are read from a hub by HTTP, with a token that nobody else gets to see."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from infra.errors import PlanRefused
from infra.models.find import find_spec
from infra.models.hub import HubReader

CONFIG = {
    "model_type": "qwen2_5_vl",
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "vocab_size": 500,
    "vision_config": {"hidden_size": 64, "intermediate_size": 128},
}
CONFIG_PATH = "/org/model/resolve/main/config.json"
SECRET = "hf_secret"


@dataclass
class Hub:
    """Answers by path: status, headers, body. `asked` holds each request's path and headers."""

    address: str
    answers: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)


@pytest.fixture
def hubs() -> Iterator[tuple[Hub, Hub]]:
    """Two hosts on free ports: the hub, and where it may send people on to."""
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) for _ in range(2)]
    found = tuple(Hub(f"http://127.0.0.1:{server.server_port}") for server in servers)
    threads = []
    for server, hub in zip(servers, found, strict=True):
        server.RequestHandlerClass = handler_for(hub)
        threads.append(threading.Thread(target=server.serve_forever, args=(0.01,)))
        threads[-1].start()
    yield found
    for server, thread in zip(servers, threads, strict=True):
        server.shutdown()
        thread.join()
        server.server_close()


def handler_for(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hub.asked.append((self.path, dict(self.headers)))
            status, headers, body = hub.answers.get(self.path, (404, {}, b""))
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: object) -> None:
            """Say nothing."""

    return Handler


@pytest.fixture
def hub(hubs, monkeypatch) -> Hub:
    monkeypatch.setenv("HF_ENDPOINT", hubs[0].address + "/")
    monkeypatch.setenv("HF_TOKEN", SECRET)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return hubs[0]


def refusal(name: str = "org/model") -> str:
    with pytest.raises(PlanRefused) as caught:
        find_spec(name, hub=True)
    text = str(caught.value)
    assert "\n" not in text
    assert SECRET not in text
    return text


def test_a_model_of_the_hub_is_read_from_its_files(hub):
    hub.answers[CONFIG_PATH] = (200, {}, json.dumps(CONFIG).encode())
    assert find_spec("org/model", hub=True).decoder.vocab == 500
    assert {path.rsplit("/", 1)[0] for path, _ in hub.asked} == {"/org/model/resolve/main"}
    assert all(headers["Authorization"] == f"Bearer {SECRET}" for _, headers in hub.asked)


def test_a_revision_is_part_of_the_address(hub):
    HubReader("org/model", "refs/pr/1").read("config.json")
    assert hub.asked[0][0] == "/org/model/resolve/refs%2Fpr%2F1/config.json"


def test_a_catalogued_model_does_not_ask_the_hub(hub):
    find_spec("Qwen/Qwen2.5-VL-7B-Instruct", hub=True)
    assert hub.asked == []


def test_only_the_start_of_a_file_is_asked_for(hub):
    hub.answers["/org/model/resolve/main/model.safetensors"] = (200, {}, b"0123456789")
    assert HubReader("org/model").read("model.safetensors", 4) == b"0123"
    assert hub.asked[0][1]["Range"] == "bytes=0-3"


def test_no_token_is_sent_when_there_is_none(hub, monkeypatch):
    monkeypatch.delenv("HF_TOKEN")
    HubReader("org/model").read("config.json")
    assert "Authorization" not in hub.asked[0][1]


def test_the_token_does_not_follow_to_another_host(hubs, hub):
    there = hubs[1]
    there.answers["/blob"] = (200, {}, b"{}")
    hub.answers[CONFIG_PATH] = (302, {"Location": f"{there.address}/blob"}, b"")
    assert HubReader("org/model").read("config.json") == b"{}"
    assert "Authorization" not in there.asked[0][1]


def test_a_name_that_the_hub_does_not_know_is_refused_like_any_other(hub):
    assert "no model 'Qwen/Qwen2.5-VL-70B'; did you mean" in refusal("Qwen/Qwen2.5-VL-70B")
    hub.answers[CONFIG_PATH] = (401, {"X-Error-Code": "RepoNotFound"}, b"")
    assert "no model 'org/model'" in refusal()


@pytest.mark.parametrize("status", [401, 403])
def test_a_gated_model_is_refused_with_what_would_help(hub, status):
    hub.answers[CONFIG_PATH] = (status, {"X-Error-Code": "GatedRepo"}, b"")
    assert f"does not let 'org/model' be read ({status}); allowed: a public model" in refusal()


def test_a_hub_in_trouble_is_named_with_its_answer(hub):
    hub.answers[CONFIG_PATH] = (503, {}, b"")
    assert f"the hub {hub.address} answered 503 for 'org/model'" in refusal()


def test_a_hub_that_can_not_be_reached_is_said_to_be_with_what_works_without(hub, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    text = refusal("Qwen/Qwen2.5-VL-70B")
    assert "the hub http://127.0.0.1:1 can't be reached" in text
    assert "allowed: a model of the catalogue, or a folder; did you mean 'Qwen/" in text


@pytest.mark.parametrize("endpoint", ["ftp://host", "file:///etc", "http://me:word@host", "host"])
def test_an_endpoint_that_is_no_hub_is_refused_without_being_repeated(hub, monkeypatch, endpoint):
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    text = refusal()
    assert text.startswith("HF_ENDPOINT: ")
    assert "word" not in text


def test_a_token_that_no_header_could_carry_is_refused_without_being_repeated(hub, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", f"{SECRET}\r\nHost: elsewhere")
    assert refusal().startswith("HF_TOKEN: ")
    assert hub.asked == []


@pytest.mark.parametrize("name", ["one-word", "a/b/c", "a/..", "../b", "org/mo del", "org/model?x"])
def test_what_is_no_name_of_a_hubs_model_is_not_asked_for(hub, name):
    assert "no model" in refusal(name)
    assert hub.asked == []
