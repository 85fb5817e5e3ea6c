"""A worker whose engine does not start says so, having asked nothing."""

import os
import signal
import sys
import warnings
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

pytest.importorskip("ray")

with warnings.catch_warnings(action="ignore"):  # Ray's own, while it is imported
    from worker import deploy, import_check

from jobs.addresses import JobPaths
from jobs.order import Attempt, Order, Sampling
from jobs.store.bucket import Store
from worker.__main__ import _connected, _work
from worker.hand_back import HandBack


def test_an_engine_that_can_not_be_imported_ends_the_job_as_start_failed(
    store, bucket, monkeypatch, capsys
):
    def broken(order: Order, engine: str, options: object, check: object) -> None:
        raise RuntimeError("EngineStartFailed: ImportError:\n no module named 'flash_attn'")

    monkeypatch.setattr(deploy, "deploy", broken)
    paths = ordered(store, bucket)
    assert _work(store, paths, 3, "vllm", HandBack(), lambda: None) == 1
    attempt = Attempt.model_validate_json(store.read(paths.attempt(3)))
    said = "start_failed: EngineStartFailed: ImportError: no module named 'flash_attn'"
    assert (attempt.error, attempt.ready_at) == (said, None)
    assert capsys.readouterr().err.strip() == said


@pytest.fixture
def signals() -> Iterator[None]:
    """Handlers as they were, afterwards."""
    kept = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)}
    yield
    for each, handler in kept.items():
        signal.signal(each, handler)


@pytest.mark.usefixtures("signals")
def test_a_notice_while_the_engine_is_loaded_hands_the_job_back_without_an_error(
    store, bucket, monkeypatch, capsys
):
    def noticed(order: Order, engine: str, options: object, check: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        pytest.fail("it went on")

    monkeypatch.setenv("RAY_ADDRESS", "nowhere")
    monkeypatch.setattr(deploy, "connect", lambda address: None)
    monkeypatch.setattr(deploy, "deploy", noticed)
    paths = ordered(store, bucket)
    assert _connected(store, paths, 3, "fake") == 75
    attempt = Attempt.model_validate_json(store.read(paths.attempt(3)))
    assert (attempt.error, attempt.ready_at) == (None, None)
    assert attempt.ended_at is not None
    assert capsys.readouterr().err == "handed back: before a shard was handed out\n"


@pytest.mark.usefixtures("signals")
def test_a_driver_that_is_told_to_stop_gives_up_at_once(store, bucket, monkeypatch):
    def stopped(order: Order, engine: str, options: object, check: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        pytest.fail("it went on")

    monkeypatch.setenv("RAY_ADDRESS", "nowhere")
    monkeypatch.setattr(deploy, "connect", lambda address: None)
    monkeypatch.setattr(deploy, "deploy", stopped)
    with pytest.raises(KeyboardInterrupt):
        _connected(store, ordered(store, bucket), 3, "fake")


@pytest.mark.usefixtures("signals")
def test_what_can_not_be_imported_is_named_before_a_node_is_asked_for(
    store, bucket, monkeypatch, tmp_path, capsys
):
    says = "start_failed: vllm: ImportError: libcuda.so.1: cannot open shared object file"
    code = f"import sys; print('WARNING of a library', file=sys.stderr); sys.exit({says!r})"
    monkeypatch.setattr(import_check, "MEMORY", tmp_path)
    monkeypatch.setattr(import_check, "COMMAND", (sys.executable, "-c", code))
    monkeypatch.setenv("RAY_ADDRESS", "nowhere")
    monkeypatch.setattr(deploy, "connect", lambda address: None)
    monkeypatch.setattr(deploy.serve, "start", lambda **_: None)
    monkeypatch.setattr(deploy.serve, "status", lambda: SimpleNamespace(applications={}))
    monkeypatch.setattr(deploy.serve, "run", lambda *_, **__: pytest.fail("it asked for a node"))
    paths = ordered(store, bucket)
    assert _connected(store, paths, 3, "vllm") == 1
    attempt = Attempt.model_validate_json(store.read(paths.attempt(3)))
    assert (attempt.error, attempt.ready_at) == (says, None)
    assert capsys.readouterr().err == f"{says}\n"


def ordered(store: Store, bucket: str) -> JobPaths:
    """The order of a job with one shard, where the worker looks for it."""
    paths = JobPaths.of(bucket, "job-1")
    order = Order(
        job_id="job-1",
        model="m",
        engine={},
        replicas=1,
        cpus=1,
        prompt="p",
        answer_schema={},
        box_field=None,
        sampling=Sampling(temperature=0, top_p=1, max_tokens=9, seed=0),
        min_pixels=None,
        max_pixels=None,
        shards=1,
    )
    store.write(paths.order, order.model_dump_json().encode())
    return paths
