"""`zeroshift plan`: an answer without bucket, settings or GPU, and one line for every mistake."""

import json
import os
import subprocess
import sys
from decimal import Decimal

import pytest
from typer.testing import CliRunner

from infra.catalogue.models import catalogued_models
from jobs.cli.commands import app

SEVEN = "Qwen/Qwen2.5-VL-7B-Instruct"
NAMED = [
    *(f"Qwen/Qwen2.5-VL-{size}B-Instruct{awq}" for size in (3, 7, 32, 72) for awq in ("", "-AWQ")),
    *(f"Qwen/Qwen3-VL-{size}-Instruct" for size in ("2B", "4B", "8B", "32B", "235B-A22B")),
    *(f"Qwen/Qwen3-VL-{size}-Instruct-FP8" for size in ("2B", "8B", "32B", "235B-A22B")),
    *(f"OpenGVLab/InternVL3-{size}B" for size in (1, 2, 8, 14, 38, 78)),
    *(f"llava-hf/llava-onevision-qwen2-{size}-ov-hf" for size in ("0.5b", "7b", "72b")),
    "openbmb/MiniCPM-V-4_5",
    *(f"meta-llama/Llama-3.2-{size}B-Vision-Instruct" for size in (11, 90)),
]
KEYS = {"choice", "memory", "image_tokens", "engine", "time_s", "cost", "rejected"}
WITHIN = {
    "choice": {"gpu", "count", "tensor_parallel", "offer"},
    "memory": {
        *("budget_gib", "weights_gib", "activation_gib", "non_torch_gib", "graphs_gib"),
        *("kv_gib", "kv_tokens", "fits", "reason"),
    },
    "image_tokens": {"patches", "tokens", "model_width", "model_height"},
    "time_s": {"low", "expected", "high"},
    "cost": {"usd", "usd_per_1000_images", "billed_s"},
}
ON = ("--on", "H100", "--tensor-parallel", "2", "--utilization", "0.9", "--max-model-len", "16000")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Plans in an empty folder, without any setting and without a network."""
    for name in [name for name in os.environ if name.upper().startswith("ZEROSHIFT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments, status=0, model=SEVEN):
        found = CliRunner().invoke(app, ["plan", "--model", model, *arguments])
        assert found.exit_code == status, found.output
        assert "Traceback" not in found.output
        return found

    return invoke


def one_error(found) -> str:
    assert found.stdout == ""
    [line] = found.stderr.splitlines()
    assert line.startswith("error: ")
    return line


MISTAKES = {
    "a size without pixels": (("--image", "0x0"), "image: 0x0 has no pixels; allowed: 1x1"),
    "a negative size": (("--image", "-3x4"), "image: -3x4 has no pixels"),
    "no size": (("--image", "big"), "allowed: WIDTHxHEIGHT in pixels, as 1920x1080"),
    "no images": (("--images", "0"), "images: found 0; allowed: 1 and more"),
    "negative images": (("--images", "-4"), "images: found -4; allowed: 1 and more"),
    "no number": (("--images", "many"), "argument --images: invalid int value: 'many'"),
    "a GPU that is not": (("--gpu", "H1000"), "gpu: no GPU 'H1000'; did you mean H100"),
    "to judge on none": (("--on", "X100"), "on: no GPU 'X100'; did you mean H100"),
    "a deadline": (("--deadline", "2x"), "allowed: a time such as 90s, 30m, 2h or 1d"),
    "a deadline of none": (("--deadline", "0"), "deadline: found '0'; allowed: a time"),
    "a quantisation": (("--quantization", "fp4"), "allowed: none, fp8, awq, int8"),
    "a length": (("--on", "H100", "--max-model-len", "999999"), "allowed: up to 128000"),
    "ranks": (("--on", "H100", "--tensor-parallel", "3"), "allowed: 1, 2, 4"),
    "no ranks": (("--on", "H100", "--tensor-parallel", "0"), "tensor-parallel: "),
    "memory": (("--on", "H100", "--utilization", "2"), "allowed: 0.01 to 1"),
    "videos": (("--on", "H100", "--video", "-1"), "video: found -1; allowed: 0 and more"),
    "a region": (("--region", "mars"), "in mars; see zeroshift offers"),
    "pixels": (("--max-pixels", "-5"), "max_pixels: found -5; allowed: 784 and more"),
    "ranks to choose": (("--tensor-parallel", "2"), "tensor-parallel: allowed: with --on GPU"),
    "spot to judge": (("--on", "H100", "--spot"), "spot: means nothing with --on"),
    "an option": (("--imagse", "3"), "unrecognized arguments: --imagse 3"),
}


@pytest.mark.parametrize(("arguments", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_that_says_what_is_allowed(run, arguments, said):
    assert said in one_error(run(*arguments, status=2))


def test_an_unknown_model_is_named_with_those_like_it(run):
    line = one_error(run(model="Qwen/Qwen2.5-VL-7B-Instruckt", status=2))
    assert "no model 'Qwen/Qwen2.5-VL-7B-Instruckt'; did you mean 'Qwen/Qwen2.5-VL-7B-" in line


@pytest.mark.parametrize("arguments", [("--gpu", "H100"), ON], ids=["chosen", "judged"])
def test_both_forms_answer_under_the_same_keys(run, arguments):
    shown = json.loads(run("--image", "1920x1080", *arguments, "--json").stdout)
    assert set(shown) >= KEYS
    for group, keys in WITHIN.items():
        assert set(shown[group]) >= keys, group
    assert shown["choice"]["gpu"] == "H100"
    assert shown["memory"]["fits"] is True
    assert Decimal(shown["cost"]["usd"]) > 0
    assert "explain" not in shown


def test_a_configuration_is_judged_as_it_was_given(run):
    given = (*ON, "--max-num-seqs", "7", "--max-num-batched-tokens", "4096", "--video", "1")
    engine = json.loads(run(*given, "--json").stdout)["engine"]
    assert (engine["tensor_parallel_size"], engine["gpu_memory_utilization"]) == (2, 0.9)
    assert (engine["max_model_len"], engine["max_num_seqs"]) == (16000, 7)
    assert engine["max_num_batched_tokens"] == 4096
    assert engine["limit_mm_per_prompt"]["video"] == 1


def test_what_does_not_fit_is_judged_and_is_no_error(run):
    shown = json.loads(run("--on", "L4", "--json", model="Qwen/Qwen2.5-VL-72B-Instruct").stdout)
    assert (shown["memory"]["fits"], shown["time_s"], shown["cost"]) == (False, None, None)
    assert "does not fit" in shown["memory"]["reason"]


def test_when_no_offer_will_do_each_says_why_and_the_status_is_1(run):
    found = run("--deadline", "1s", "--json", status=1)
    shown = json.loads(found.stdout)
    assert shown["choice"] is None
    assert any("misses the deadline" in each["reason"] for each in shown["rejected"])
    assert "error: no offer can do this job" in found.stderr
    assert "misses the deadline" in run("--deadline", "1s", status=1).stdout


def test_explain_shows_formulas_in_both_ways(run):
    lines = json.loads(run("--explain", "--json").stdout)["explain"]
    assert {"weights", "KV cache"} <= {line["figure"] for line in lines}
    shown = run("--explain").stdout
    assert all(f"= {line['formula']}" in shown for line in lines)


def test_people_are_told_the_choice_first_and_the_rest_after(run):
    lines = run("--images", "50000", "--gpu", "H100").stdout.splitlines()
    labels = [line[:16].strip() for line in lines if line[:16].strip()]
    first = ["model", "hardware", "memory", "time", "cost", "engine", "image tokens"]
    assert labels[: len(first)] == first
    assert lines[0] == f"model           {SEVEN}, 50,000 images"
    assert any(line.startswith("not taken") for line in lines)


def test_an_endpoint_has_a_price_and_no_hardware(run):
    shown = json.loads(run("--json", model="google/gemini-2.5-pro").stdout)
    assert set(shown) >= KEYS
    assert (shown["choice"]["gpu"], shown["choice"]["count"]) == (None, 0)
    assert Decimal(shown["cost"]["usd"]) > 0
    assert "no hardware" in run(model="google/gemini-2.5-pro").stdout
    line = one_error(run("--on", "H100", model="google/gemini-2.5-pro", status=2))
    assert "is an endpoint, which has no hardware to choose" in line


@pytest.mark.parametrize("option", ["--max-pixels", "--min-pixels", "--concurrency"])
def test_what_an_endpoint_does_not_take_is_not_asked_for_in_silence(run, option):
    line = one_error(run(option, "100000", model="google/gemini-2.5-pro", status=2))
    assert line.startswith(f"error: {option[2:]}: google/gemini-2.5-pro is an endpoint")


@pytest.mark.parametrize("option", ["--gpu", "--region"])
@pytest.mark.parametrize("value", ["", " ", ",", ", ,"])
def test_an_empty_list_is_refused_and_not_taken_for_no_limit(run, option, value):
    line = one_error(run(option, value, status=2))
    assert line.startswith(f"error: {option[2:]}: found {value!r}; allowed: one name or more")


def test_the_models_that_must_plan_are_in_the_catalogue_by_these_names():
    assert set(NAMED) <= set(catalogued_models())


@pytest.mark.parametrize("model", NAMED)
def test_each_of_them_plans(run, model):
    shown = json.loads(run("--image", "1920x1080", "--json", model=model).stdout)
    assert shown["memory"]["fits"]
    assert shown["image_tokens"]["tokens"] > 0


def test_licences_are_told_and_refused_where_they_exclude_us(run, monkeypatch):
    llama = "meta-llama/Llama-3.2-11B-Vision-Instruct"
    assert "excludes EU: a job there is refused" in run(model=llama).stderr
    assert "must acknowledge it" in run(model="Qwen/Qwen2.5-VL-3B-Instruct").stderr
    monkeypatch.setenv("ZEROSHIFT_JURISDICTION", "EU")
    assert "excludes EU" in one_error(run(model=llama, status=2))


def test_a_plan_waits_for_no_engine_no_store_and_no_framework(tmp_path):
    code = (
        f"import sys; sys.argv = ['zeroshift', 'plan', '--model', {SEVEN!r}, '--json']\n"
        "from jobs.cli.main import main\nmain()\n"
        "slow = {'torch', 'boto3', 'vllm', 'ray', 'transformers', 'pydantic', 'typer', 'PIL'}\n"
        "sys.exit(' '.join(slow & set(sys.modules)) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["model"] == SEVEN
