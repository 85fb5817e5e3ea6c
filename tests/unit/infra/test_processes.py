"""Processes by tag: a whole family is found and ended, and nobody else's is touched."""

import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from infra.clusters.local import processes

TAG = "ZEROSHIFT_TEST"
Process = subprocess.Popen[bytes]
# Each says when it is ready, so that no test has to wait and hope.
PLAIN = "import time; print('ready', flush=True); time.sleep(60)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {PLAIN}"
FAMILY = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {PLAIN!r}])\n"


@pytest.fixture
def value() -> Iterator[str]:
    """A tag's value of this test alone; whatever carries it is ended afterwards."""
    unique = uuid.uuid4().hex
    yield unique
    processes.end(TAG, unique, grace_s=1)


@pytest.fixture
def start(tmp_path: Path, value: str) -> Iterator[Callable[..., Process]]:
    """Spawns Python code and waits until it has said that it is ready."""
    started: list[Process] = []

    def spawn_ready(code: str, **environment: str) -> Process:
        log = tmp_path / f"{len(started)}.log"
        command = [sys.executable, "-uc", code]
        process = processes.spawn(command, {**os.environ, **environment}, log)
        started.append(process)
        while b"ready" not in log.read_bytes():
            assert process.poll() is None, log.read_text()
        return process

    yield spawn_ready
    for process in started:
        process.kill()
        process.wait()


def runs(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def test_a_child_and_its_grandchild_are_found_by_their_tag(start, value):
    parent = start(FAMILY, **{TAG: value})
    found = {process.pid for process in processes.tagged(TAG, value)}
    assert parent.pid in found
    assert len(found) == 2


def test_a_child_and_its_grandchild_are_ended_together(start, value):
    parent = start(FAMILY, **{TAG: value})
    family = processes.tagged(TAG, value)
    assert processes.end(TAG, value) == []
    assert parent.wait(5) == -15
    assert not any(runs(process) for process in family)


def test_a_grandchild_is_found_when_its_parent_is_gone(start, value):
    parent = start(FAMILY, **{TAG: value})
    parent.kill()
    parent.wait()
    assert len(processes.tagged(TAG, value)) == 1
    assert processes.end(TAG, value) == []


def test_a_process_that_ignores_the_request_is_killed(start, value):
    process = start(STUBBORN, **{TAG: value})
    assert processes.end(TAG, value, grace_s=0.2) == []
    assert process.wait(5) == -9


def test_a_process_that_obeys_is_not_killed_and_its_status_is_kept(start, value):
    process = start(PLAIN, **{TAG: value})
    assert processes.end(TAG, value) == []
    assert process.wait(5) == -15


def test_somebody_elses_process_is_left_alone(start, value):
    mine = start(PLAIN, **{TAG: value})
    others = [start(PLAIN, **{TAG: uuid.uuid4().hex}), start(PLAIN)]
    processes.end(TAG, value)
    assert mine.wait(5) == -15
    assert [process.poll() for process in others] == [None, None]


def test_a_value_that_only_begins_the_same_is_another_one(start, value):
    process = start(PLAIN, **{TAG: f"{value}-longer"})
    assert processes.tagged(TAG, value) == []
    assert [found.pid for found in processes.tagged(TAG, f"{value}-longer")] == [process.pid]


def test_this_very_process_is_never_among_those_found():
    assert os.getpid() not in [p.pid for p in processes.tagged("PATH", os.environ["PATH"])]


def test_what_has_ended_is_not_found_even_before_it_is_collected(start, value):
    process = start("print('ready')", **{TAG: value})
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert processes.tagged(TAG, value) == []
    assert process.wait() == 0


def test_ending_nothing_is_no_error(value):
    assert processes.end(TAG, value) == []


def test_output_is_appended_to_the_log_in_a_folder_made_for_it(tmp_path):
    log = tmp_path / "logs" / "deep" / "node.log"
    code = "import sys; print('out', flush=True); print('and errors', file=sys.stderr)"
    for _ in range(2):
        processes.spawn([sys.executable, "-c", code], {}, log).wait()
    assert log.read_text() == "out\nand errors\n" * 2


def test_a_process_has_its_own_session_and_only_the_environment_it_was_given(tmp_path):
    code = "import os; print(os.getsid(0) == os.getpid(), sorted(os.environ))"
    environment = {TAG: "x", "LC_CTYPE": "C.UTF-8"}
    processes.spawn([sys.executable, "-c", code], environment, tmp_path / "log").wait()
    assert (tmp_path / "log").read_text() == f"True ['LC_CTYPE', '{TAG}']\n"


def test_what_is_to_be_spared_is_neither_found_nor_ended(start, value):
    doomed = start(PLAIN, **{TAG: value})
    spared = start(PLAIN, **{TAG: value, f"{TAG}_ROLE": "last"})
    assert processes.end(TAG, value, spare=(f"{TAG}_ROLE", "last")) == []
    assert (doomed.wait(5), spared.poll()) == (-15, None)


def test_values_of_a_tag_are_listed_for_one_owner_alone(start, value):
    first = start(PLAIN, **{TAG: f"{value}-a", f"{TAG}_OWNER": value})
    start(PLAIN, **{TAG: f"{value}-b", f"{TAG}_OWNER": f"not-{value}"})
    start(PLAIN, **{TAG: f"{value}-c"})
    found = processes.values(TAG, where=(f"{TAG}_OWNER", value))
    assert {each: [p.pid for p in ps] for each, ps in found.items()} == {f"{value}-a": [first.pid]}
