"""A model is a folder or one that comes along; anything else is refused in one line."""

import json
from pathlib import Path

import pytest

from infra.errors import PlanRefused
from infra.models.folder import BUNDLED, RUNNABLE, find_model
from worker.families import BOX_SPACES


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    config = {
        "model_type": "qwen2_5_vl",
        "architectures": ["Some"],
        "text_config": {"max_position_embeddings": 777},
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "model.safetensors").write_bytes(b"")
    return tmp_path


def refusal(name: str | Path) -> str:
    with pytest.raises(PlanRefused) as caught:
        find_model(str(name))
    text = str(caught.value)
    assert text.startswith("model: ")
    assert "\n" not in text
    return text


def test_a_folder_with_a_config_and_weights_is_a_model(folder):
    model = find_model(str(folder))
    assert (model.folder, model.architecture, model.context) == (folder.resolve(), "Some", 777)


def test_a_text_model_without_a_text_config_has_its_own_context(folder):
    config = {"model_type": "qwen2_vl", "max_position_embeddings": 99}
    (folder / "config.json").write_text(json.dumps(config))
    model = find_model(str(folder))
    assert (model.architecture, model.context) == ("unknown", 99)


@pytest.mark.parametrize("name", list(BUNDLED))
def test_the_bundled_models_are_there_and_whole(name):
    model = find_model(name)
    assert model.architecture == "Qwen2_5_VLForConditionalGeneration"
    assert model.context == 1024
    assert model.name == name


@pytest.mark.parametrize("name", ["Qwen/Qwen2.5-VL-7B-Instruct", "s3://models/qwen/", "/no/such"])
def test_a_missing_model_is_named_in_one_line_with_what_is_allowed(name):
    text = refusal(name)
    assert repr(name) in text
    assert "zeroshift/parts-inspector" in text


def test_weights_in_a_format_that_runs_code_are_not_loaded(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert "no safetensors" in refusal(folder)


@pytest.mark.parametrize("text", ["{", "[]", '"x"', "\udcff"])
def test_a_config_that_can_not_be_read_is_refused_in_one_line(folder, text):
    (folder / "config.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert "config.json" in refusal(folder)


def test_a_family_that_the_worker_does_not_know_is_refused_before_anything_is_raised(folder):
    (folder / "config.json").write_text(json.dumps({"model_type": "llava"}))
    assert "'llava'; allowed: qwen2_vl" in refusal(folder)


def test_the_families_that_plan_are_those_that_the_worker_knows():
    assert set(RUNNABLE) == set(BOX_SPACES)
