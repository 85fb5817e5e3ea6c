"""A name leads to a model, or to one line with the nearest names."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from infra.catalogue.models import catalogued_models
from infra.errors import PlanRefused
from infra.models.find import find_spec, nearest_models
from infra.models.folder import BUNDLED
from infra.models.sources import FolderReader

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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    return tmp_path


def refusal(name: str, **how) -> str:
    with pytest.raises(PlanRefused) as caught:
        find_spec(name, **how)
    text = str(caught.value)
    assert text.startswith("model: ")
    assert "\n" not in text
    return text


def test_a_catalogued_model_is_found_whatever_its_capitals():
    known = catalogued_models()["Qwen/Qwen2.5-VL-7B-Instruct"]
    assert find_spec("Qwen/Qwen2.5-VL-7B-Instruct") is known
    assert find_spec("qwen/qwen2.5-vl-7b-instruct") is known


@pytest.mark.parametrize("name", list(BUNDLED))
def test_a_bundled_model_is_read_from_its_folder(name):
    found = find_spec(name)
    assert (found.name, found.family, found.decoder.layers) == (name, "qwen2_5_vl", 4)


def test_a_folder_is_read_where_it_is(folder, monkeypatch):
    assert find_spec(str(folder)).decoder.vocab == 500
    monkeypatch.setenv("HOME", str(folder.parent))
    assert find_spec(f"~/{folder.name}").name == f"~/{folder.name}"


def test_a_folder_without_a_config_is_named(tmp_path):
    assert f"{str(tmp_path)!r} has no config.json" in refusal(str(tmp_path))


def test_a_file_that_may_not_be_read_is_refused_in_one_line(folder, monkeypatch):
    def forbid(*_args: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", forbid)
    assert refusal(str(folder)).endswith("config.json can't be read: Permission denied")


def test_a_reader_hands_over_the_start_of_a_file_or_nothing(folder):
    reader = FolderReader(folder)
    assert reader.read("config.json", 2) == b'{"'
    assert json.loads(reader.read("config.json") or b"") == CONFIG
    assert reader.read("none.json") is None


def test_another_place_is_read_through_the_callers_reader(folder):
    asked = []

    def reader_for(name: str) -> FolderReader:
        asked.append(name)
        return FolderReader(folder)

    found = find_spec("s3://models/mine/", reader_for)
    assert (asked, found.name) == (["s3://models/mine/"], "s3://models/mine/")


@pytest.mark.parametrize("reader_for", [None, lambda _name: None])
def test_another_place_that_nobody_reads_is_refused(reader_for):
    assert "'s3://models/mine/' can't be read from here" in refusal(
        "s3://models/mine/", reader_for=reader_for
    )


def test_an_unknown_name_is_refused_with_the_nearest():
    text = refusal("Qwen/Qwen2.5-VL-70B-Instruct")
    assert "no model 'Qwen/Qwen2.5-VL-70B-Instruct'; did you mean " in text
    assert "'Qwen/Qwen2.5-VL-72B-Instruct'" in text
    assert "a folder with a config.json" in text


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("internvl3-8b", "OpenGVLab/InternVL3-8B"),
        ("Qwen/Qwen3-VL-8B", "Qwen/Qwen3-VL-8B-Instruct"),
        ("MiniCPM-V-4.5", "openbmb/MiniCPM-V-4_5"),
        ("parts-inspector", "zeroshift/parts-inspector"),
    ],
)
def test_the_nearest_names_do_not_need_the_owner(name, nearest):
    assert nearest in nearest_models(name)


@pytest.mark.parametrize(
    "name", ["", " ", "~nobody-here/x", "x" * 5000, "a\0b", "../../nowhere", "\n"]
)
def test_a_strange_name_is_refused_in_one_line(name):
    assert "no model" in refusal(name)


def test_the_hub_is_not_asked_unless_it_may_be(monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    assert "no model 'some/model'" in refusal("some/model")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert "no model 'some/model'" in refusal("some/model", hub=True)


def test_finding_a_model_imports_nothing_slow():
    """A plan answers in a blink: no HTTP client, no numbers library, no validation library."""
    code = (
        "import sys, infra.models.find, infra.planner.image_tokens as t\n"
        "t.count_image_tokens(infra.models.find.find_spec('zeroshift/parts-inspector'), 9, 9)\n"
        "slow = {'urllib.request', 'numpy', 'torch', 'transformers', 'pydantic', 'boto3', 'ssl'}\n"
        "print(sorted(slow & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.strip() == "[]"
