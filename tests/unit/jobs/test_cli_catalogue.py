"""`zeroshift models` and `zeroshift offers`: no store, no network, one line for every mistake."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from infra.catalogue.models import catalogued_models
from infra.catalogue.offers import catalogued_offers
from jobs.cli import own_rows
from jobs.cli.columns import print_columns
from jobs.cli.commands import COMMANDS, app
from jobs.cli.main import QUICK
from jobs.settings import sources as settings_sources

OWN = """
[[offers]]
provider = "Acme"
instance = "rack-1"
gpu = "rtx 4090"
gpus = 2
regions = ["basement"]
eu = true
usd_per_hour = "1.50"
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a command in an empty folder, without any setting."""
    for name in [name for name in os.environ if name.upper().startswith("ZEROSHIFT_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments, status=0):
        found = CliRunner().invoke(app, arguments)
        assert found.exit_code == status, found.output
        assert "Traceback" not in found.output
        return found

    return invoke


def one_error(found) -> str:
    assert found.stdout == ""
    [line] = found.stderr.splitlines()
    assert line.startswith("error: ")
    return line


LISTS = [name for name in QUICK if name != "serve"]  # which prints no list, and has its own tests


def offers_in(found) -> dict[str, dict]:
    return {row["name"]: row for row in json.loads(found.stdout)}


def test_help_lists_every_command_with_its_help(run):
    shown = run("--help").stdout
    for command in COMMANDS:
        assert any(line.split()[:1] == [command] for line in shown.splitlines())
    assert "Offers: what can be rented" in shown


@pytest.mark.parametrize("command", LISTS)
def test_a_quick_command_explains_its_options(run, command):
    shown = run(command, "--help").stdout
    assert f"usage: zeroshift {command}" in shown
    assert "--json" in shown


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("offers", "--gpu", "H1000"), "--gpu: no GPU 'H1000'; did you mean H100"),
        (("offers", "--gpu", "H100,"), "--gpu: no GPU ''; allowed: "),
        (("offers", "--gpus", "H100"), "unrecognized arguments: --gpus H100"),
        (("offers", "H100"), "unrecognized arguments: H100"),
        (("offers", "--region"), "expected one argument"),
        (("models", "--for", "ocrr"), "did you mean ocr? allowed: ocr, inspection, video, edge"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_is_allowed(run, arguments, named):
    assert named in one_error(run(*arguments, status=2))


def test_offers_are_listed_one_a_line_with_what_is_unknown(run):
    lines = run("offers").stdout.splitlines()
    assert len(lines) == 1 + 1 + len(catalogued_offers())
    by_name = {line.split()[0]: line for line in lines}
    assert "set by configuration" in by_name["local"]
    assert "unknown" in by_name["lyceum/h200"].split()[4]
    assert "0.00" not in by_name["lyceum/h200"]
    assert "by 1 s, min 60 s" in by_name["aws/p5.48xlarge"]
    assert "undated (stale)" in by_name["lambda/gpu_1x_gh200"]
    assert "1 x H100, or 2/4/8" in by_name["runpod/secure-h100-sxm"]


def test_offers_are_filtered_by_gpu_and_region(run):
    found = offers_in(run("offers", "--gpu", "h200, H100-SXM", "--region", "eu-*", "--json"))
    assert {row["gpu"] for row in found.values()} == {"H100", "H200"}
    assert all(row["eu"] for row in found.values())
    assert "nebius/gpu-h200-sxm" in found


def test_json_keeps_prices_exact_and_unknown_ones_null(run):
    found = offers_in(run("offers", "--json"))
    assert found["aws/p4d.24xlarge"]["usd_per_hour"] == "21.957642"
    assert found["lyceum/h100"]["usd_per_hour"] is None
    assert found["lyceum/h100"]["stale"] is True
    assert found["local"]["stale"] is False


def test_nothing_found_is_said_and_is_no_error(run):
    found = run("offers", "--region", "mars-1")
    assert found.stdout == ""
    assert "no offer matches" in found.stderr
    assert json.loads(run("offers", "--region", "mars-1", "--json").stdout) == []


def test_own_rows_are_listed_without_a_bucket(run, tmp_path):
    (tmp_path / "zeroshift.toml").write_text(OWN)
    found = offers_in(run("offers", "--region", "eu-*", "--gpu", "RTX-4090", "--json"))
    assert list(found) == ["acme/rack-1"]
    assert found["acme/rack-1"]["usd_per_gpu_hour"] == "0.75"
    assert found["acme/rack-1"]["dated"] == "set by configuration"


def test_this_machine_is_listed_as_it_is_set(run, monkeypatch):
    monkeypatch.setenv("ZEROSHIFT_LOCAL__USD_PER_HOUR", "0.40")
    assert offers_in(run("offers", "--json"))["local"]["usd_per_hour"] == "0.40"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (OWN.replace("rtx 4090", "rtx 4091"), "offers[0].gpu: no GPU 'rtx 4091'; did you mean"),
        ("offers = 3", "zeroshift.toml: offers: found 3"),
        ("offers =", "zeroshift.toml: not TOML"),
    ],
)
def test_wrong_settings_are_one_line(run, tmp_path, text, named):
    (tmp_path / "zeroshift.toml").write_text(text)
    assert named in one_error(run("offers", status=2))


def test_a_settings_file_that_is_named_and_missing_is_one_line(run, monkeypatch):
    monkeypatch.setenv("ZEROSHIFT_CONFIG", "nowhere.toml")
    assert "nowhere.toml: can't be read" in one_error(run("offers", status=2))


def test_models_are_listed_with_endpoints(run):
    rows = {row["name"]: row for row in json.loads(run("models", "--json").stdout)}
    assert set(catalogued_models()) < set(rows)
    seven = rows["Qwen/Qwen2.5-VL-7B-Instruct"]
    assert (seven["parameters"], seven["bf16_gib"]) == (8292166656, 15.45)
    assert (seven["image_tokens"], seven["boxes"]) == (2691, "model_pixels")
    assert rows["google/gemini-2.5-pro"]["kind"] == "endpoint"
    assert rows["OpenGVLab/InternVL3-8B"]["boxes"] is None
    shown = run("models").stdout
    assert all(name in shown for name in rows)


@pytest.mark.parametrize("use", ["ocr", "inspection", "video", "edge"])
def test_the_guide_says_which_why_and_what_was_not_measured(run, use):
    found = run("models", "--for", use)
    assert "not measured: " in found.stdout
    rows = json.loads(run("models", "--for", use, "--json").stdout)
    assert all(f"{row['model']}: {row['why']}" in found.stdout for row in rows)
    assert all(f"{row['bf16_gib']:.1f} GiB in bf16" in found.stdout for row in rows)


def test_a_narrow_terminal_gets_whole_columns_and_a_pipe_all_of_them(capsys):
    rows = [("a" * 10, "1", "x" * 30)]
    for terminal, kept in ((True, 2), (False, 3)):
        text = io.StringIO()
        console = Console(file=text, force_terminal=terminal, width=20, soft_wrap=True)
        print_columns(console, ("name", "count", "rest"), rows, right=(1,))
        lines = text.getvalue().splitlines()
        assert [len(line.split()) for line in lines] == [kept, kept]
        assert lines[1].split()[0] == "a" * 10
    assert "too narrow for: rest" in capsys.readouterr().err


def test_names_of_settings_are_those_that_settings_are_read_by():
    ours = (own_rows.FILE, own_rows.PREFIX)
    assert ours == (settings_sources.FILE, settings_sources.PREFIX)


@pytest.mark.parametrize("command", LISTS)
def test_a_quick_command_waits_for_no_client_of_anything(run, tmp_path, command):
    arguments = ["--model", "Qwen/Qwen2.5-VL-7B-Instruct"] if command == "plan" else []
    code = (
        f"import sys; sys.argv = {['zeroshift', command, *arguments]!r}\n"
        "from jobs.cli.main import main\nmain()\n"
        "slow = {'boto3', 'pydantic', 'jsonschema', 'pyarrow', 'PIL', 'ray', 'torch', 'vllm'}\n"
        "sys.exit(' '.join(slow & set(sys.modules)) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("arguments", [["offers"], ["offers", "--json"]])
def test_output_to_a_full_disk_is_one_line(arguments):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "jobs.cli", *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "error: output: No space left on device\n"
