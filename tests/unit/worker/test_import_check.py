"""The import check beside the driver: it fails in time, passes once, and burdens no one else."""

import sys
from pathlib import Path

import pytest

from worker import import_check
from worker.errors import StartFailed


@pytest.fixture
def memory(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setattr(import_check, "MEMORY", tmp_path / "memory")
    return tmp_path / "memory"


@pytest.fixture
def command(monkeypatch, tmp_path, memory):
    """Sets the code of the check; answers how often it has run."""

    def given(code: str) -> Path:
        runs = tmp_path / "runs"
        runs.touch()
        noted = f"open({str(runs)!r}, 'a').write('x'); "
        monkeypatch.setattr(import_check, "COMMAND", (sys.executable, "-c", noted + code))
        return runs

    return given


def run(engine: str = "vllm") -> None:
    with import_check.import_check(engine) as check:
        check()


def test_what_has_passed_is_not_checked_again(command):
    runs = command("pass")
    run()
    run()
    assert runs.read_text() == "x"


def test_after_a_change_of_the_installed_packages_it_is_checked_again(command, monkeypatch):
    runs = command("pass")
    run()
    monkeypatch.setattr(import_check, "_fingerprint", lambda: "another")
    run()
    assert runs.read_text() == "xx"


def test_every_module_that_can_not_be_imported_is_named_and_nothing_else_said(command):
    said = "WARNING\\nstart_failed: vllm: ImportError: x\\nstart_failed: PIL: OSError: y"
    runs = command(f"import sys; sys.exit('{said}')")
    for _ in range(2):
        with pytest.raises(StartFailed, match=r"^vllm: ImportError: x; PIL: OSError: y$"):
            run()
    assert runs.read_text() == "xx", "a failure is not remembered"


def test_a_library_that_crashes_while_it_is_imported_is_a_failed_start(command):
    command("import os; os.abort()")
    with pytest.raises(StartFailed, match="the import check ended with status -6"):
        run()


def test_a_check_that_hangs_has_an_end(command, monkeypatch):
    command("import time; time.sleep(60)")
    monkeypatch.setattr(import_check, "LONGEST_S", 0.1)
    with pytest.raises(StartFailed, match=r"took more than 0\.1 s"):
        run()


def test_a_check_that_nobody_waits_for_is_ended(command, memory):
    command("import time; time.sleep(60)")
    with import_check.import_check("vllm"):
        pass
    assert not memory.exists()


def test_another_engine_needs_no_check(command):
    runs = command("1/0")
    run("fake")
    assert runs.read_text() == ""
