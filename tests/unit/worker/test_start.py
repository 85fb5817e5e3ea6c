"""A worker whose engine does not start says so, having asked nothing."""

import warnings

import pytest

pytest.importorskip("ray")

with warnings.catch_warnings(action="ignore"):  # Ray's own, while it is imported
    from worker import deploy

from jobs.addresses import JobPaths
from jobs.order import Attempt, Order, Sampling
from worker.__main__ import _work


def test_an_engine_that_can_not_be_imported_ends_the_job_as_start_failed(
    store, bucket, monkeypatch, capsys
):
    def broken(order: Order, engine: str, options: object) -> None:
        raise RuntimeError("EngineStartFailed: ImportError:\n no module named 'flash_attn'")

    monkeypatch.setattr(deploy, "deploy", broken)
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
    assert _work(store, paths, 3, "vllm") == 1
    attempt = Attempt.model_validate_json(store.read(paths.attempt(3)))
    said = "start_failed: EngineStartFailed: ImportError: no module named 'flash_attn'"
    assert (attempt.error, attempt.ready_at) == (said, None)
    assert capsys.readouterr().err.strip() == said
