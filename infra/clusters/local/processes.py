"""Local processes by tag: start them, find them, end them by id.

The tag is an environment variable. Ray's own children inherit it, so a node's raylet, agents and
workers are found however they were started, and nothing of anybody else's is ever touched. A child
that gives itself a title would lose its tags with it; `ray_start` sees to it that it doesn't.
"""

import os
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import psutil

CLUSTER_TAG = "ZEROSHIFT_CLUSTER"
FLEET_TAG = "ZEROSHIFT_FLEET"  # whose it is: clusters of several buckets may share a machine
NODE_TAG = "ZEROSHIFT_NODE"
GRACE_S = 5.0
Tag = tuple[str, str]


def spawn(
    command: Sequence[str], environment: Mapping[str, str], log: Path
) -> subprocess.Popen[bytes]:
    """Start `command` in a session of its own, its output appended to `log`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as out:
        return subprocess.Popen(
            command,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def tagged(tag: str, value: str, spare: Tag | None = None) -> list[psutil.Process]:
    """Live processes, other than this one, whose environment holds `tag=value`, and not `spare`."""
    wanted = f"{tag}={value}".encode()
    spared = f"{spare[0]}={spare[1]}".encode() if spare else None
    return [p for p, environment in _all() if wanted in environment and spared not in environment]


def values(tag: str, where: Tag) -> dict[str, list[psutil.Process]]:
    """Live processes that carry the tag `where`, by their value of `tag`."""
    wanted, prefix = f"{where[0]}={where[1]}".encode(), f"{tag}=".encode()
    found: dict[str, list[psutil.Process]] = {}
    for process, environment in _all():
        if wanted in environment:
            for each in environment:
                if each.startswith(prefix):
                    found.setdefault(each.removeprefix(prefix).decode(), []).append(process)
    return found


def _all() -> Iterator[tuple[psutil.Process, list[bytes]]]:
    """Live processes other than this one, with their environments as far as they can be read."""
    for process in psutil.process_iter(["pid"]):
        if process.pid != os.getpid():
            environment = _environment(process.pid)
            if environment and _lives(process):
                yield process, environment


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # gone, a zombie, or somebody else's
        return []


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def name_of(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.NoSuchProcess:
        return "gone meanwhile"


def end(
    tag: str, value: str, grace_s: float = GRACE_S, spare: Tag | None = None
) -> list[psutil.Process]:
    """End what carries the tag: SIGTERM, a grace, SIGKILL; answers what is still there."""
    for send in (signal.SIGTERM, signal.SIGKILL):
        doomed = tagged(tag, value, spare)
        _signal(doomed, send)
        _await_gone(doomed, grace_s)
    return tagged(tag, value, spare)


def _signal(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        try:
            process.send_signal(number)
        except psutil.NoSuchProcess:
            continue


def _await_gone(processes: Iterable[psutil.Process], grace_s: float) -> None:
    """Only look: to wait for one would take its exit status from whoever started it."""
    left, deadline = list(processes), time.monotonic() + grace_s
    while left and time.monotonic() < deadline:
        time.sleep(0.02)
        left = [p for p in left if _lives(p)]
