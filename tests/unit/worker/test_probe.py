"""A worker on this machine: pictures asked with and without the grammar, and a look at imports."""

import os
import subprocess
import sys

import pytest

from infra.models.folder import find_model
from infra.offers import find_offer
from infra.planner.plan import make_plan
from jobs.errors import JobFailed, UserError
from jobs.manifest.manifest import Manifest
from jobs.offers import offers
from jobs.settings.settings import Settings
from jobs.submit.grammar_probe import probe
from worker import preflight

MODEL = "zeroshift/parts-inspector"


@pytest.fixture
def asked(shard):
    """A manifest of the pictures that `shard` puts."""
    prefix = f"s3://{shard.bucket}/in/"
    return Manifest.model_validate({"inputs": {"prefix": prefix}, "model": MODEL})


@pytest.fixture
def plan():
    return make_plan(MODEL, find_offer("local", offers(Settings(bucket="b"))), 1)


def test_a_probe_answers_with_a_comparison_and_the_pictures_it_could_not_ask(
    shard, picture, asked, plan
):
    assert find_model(MODEL).folder.is_dir()
    shard.put([picture(1), b"no picture", picture(3)])
    found = probe(shard.store, asked, plan, count=3, engine="fake")
    assert (found["asked"], found["failed"]) == (2, ["not_an_image"])


def test_a_probe_of_nothing_is_the_users_mistake(shard, asked, plan):
    with pytest.raises(UserError, match="no inputs"):
        probe(shard.store, asked, plan, count=3, engine="fake")


def test_a_probe_whose_worker_fails_says_why_in_one_line(shard, picture, asked, plan):
    shard.put([picture(1)])
    with pytest.raises(JobFailed, match="no engine 'none'"):
        probe(shard.store, asked, plan, count=1, engine="none")


def test_what_can_not_be_imported_is_named_before_a_gpu_is_paid_for(monkeypatch):
    monkeypatch.setattr(preflight, "NEEDED", ("json", "no_such_engine", "worker.errors"))
    [problem] = preflight.preflight()
    assert problem.startswith("no_such_engine: ModuleNotFoundError: ")


@pytest.mark.slow
def test_here_all_can_be_imported():
    done = subprocess.run(
        [sys.executable, "-m", "worker", "preflight"],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "start_failed" not in done.stderr
