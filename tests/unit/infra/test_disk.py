"""A full disk: it is named, and a cluster on it ends like any other."""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from infra.clusters.base import ClusterSpec
from infra.clusters.local import disk, lease, processes, ray_start
from infra.clusters.local.cluster import LocalCluster
from infra.clusters.local.registry import Registry
from infra.errors import NoCapacity, StartFailed

Usage = namedtuple("Usage", "total used free")
MIB = 1024 * 1024


def no_space(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_an_error_of_a_full_disk_names_the_place(number):
    error = OSError(number, os.strerror(number), "/deep/inside")
    assert disk.words(error, Path("/w")) == "no space left on /w"
    with pytest.raises(NoCapacity, match=r"^no space left on /w$"), disk.named(Path("/w")):
        raise error


def test_another_error_keeps_its_own_words():
    error = PermissionError(errno.EACCES, "Permission denied", "/w/x")
    assert disk.words(error, Path("/w")) == str(error)
    with pytest.raises(PermissionError), disk.named(Path("/w")):
        raise error


@pytest.mark.parametrize(("free", "words"), [(0, "no space left on /w"), (64 * MIB, "")])
def test_a_full_disk_can_be_told_before_anything_is_written(monkeypatch, free, words):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(free, 0, free))
    assert disk.full(Path("/w")) == words


def test_of_a_place_that_is_not_there_nothing_is_known():
    assert disk.full(Path("/nonexistent/zeroshift")) == ""


def test_a_draft_that_did_not_fit_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "replace", no_space)
    with pytest.raises(OSError, match="No space left"):
        lease.write_whole(tmp_path / "x.json", "{}")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="zs", ignore_cleanup_errors=True) as name:
        yield Path(name)


@pytest.fixture
def make(monkeypatch) -> Iterator[Callable[..., LocalCluster]]:
    """A local cluster with a head that does nothing."""
    made: list[LocalCluster] = []

    def hollow(port: int, config: Path, temp: Path) -> list[str]:
        code = f"import os, time; os.makedirs({str(temp)!r}); open({str(temp)!r} + '/"
        return [sys.executable, "-c", f"{code}ray_current_cluster', 'w').close(); time.sleep(300)"]

    def make(folder: Path, lease_s: float = 300.0) -> LocalCluster:
        made.append(
            LocalCluster(ClusterSpec(f"d-{uuid.uuid4().hex[:8]}", 1, 1, lease_s=lease_s), folder)
        )
        return made[-1]

    monkeypatch.setattr(ray_start, "head_command", hollow)
    yield make
    for cluster in made:
        cluster.down()


def test_a_cluster_that_finds_no_space_has_no_capacity_and_leaves_nothing(
    make, folder, monkeypatch
):
    cluster = make(folder)
    monkeypatch.setattr(ray_start, "write_token", no_space)
    with pytest.raises(NoCapacity, match=f"no space left on {folder}"):
        cluster.up()
    cluster.down()
    assert cluster.leftovers() == []


def test_a_head_that_ends_on_a_full_disk_is_told_with_it(make, folder, monkeypatch):
    cluster = make(folder)
    ends = [sys.executable, "-c", "raise SystemExit(1)"]
    monkeypatch.setattr(ray_start, "head_command", lambda *_: ends)
    monkeypatch.setattr(disk, "full", lambda place: f"no space left on {place}")
    with pytest.raises(StartFailed, match="head ended while starting: no space left on"):
        cluster.up()


def test_why_no_node_comes_is_seen_though_nobody_could_write_it_down(make, folder, monkeypatch):
    cluster = make(folder)
    cluster.up()
    assert cluster.refusal() == ""
    monkeypatch.setattr(disk, "full", lambda place: f"no space left on {place}")
    assert cluster.refusal().startswith(f"no_capacity: no space left on {folder}")


def test_a_worker_without_space_for_its_log_has_no_capacity(make, folder, monkeypatch):
    cluster = make(folder)
    cluster.up()
    monkeypatch.setattr(processes, "spawn", no_space)
    with pytest.raises(NoCapacity, match=f"no space left on {folder}/w.log"):
        cluster.launch(["work"], {}, folder / "w.log")


@pytest.fixture
def small(folder: Path) -> Iterator[Path]:
    """A file system of 24 MiB; skipped where none can be mounted."""
    command = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_cluster_on_a_disk_that_has_filled_ends_itself_with_all_that_runs(make, small):
    cluster = make(small, lease_s=5.0)
    cluster.up()
    Registry(Path(cluster.place.partition(":")[2]) / "nodes").add("n1", {})
    tags = {processes.CLUSTER_TAG: cluster.cluster_id, processes.NODE_TAG: "n1"}
    sleeper = [sys.executable, "-c", "import time; time.sleep(300)"]
    with tempfile.NamedTemporaryFile() as log:
        node = processes.spawn(sleeper, {**os.environ, **tags}, Path(log.name))
    fill(small / "fill")
    with pytest.raises(OSError, match="No space left"):
        cluster.renew(300.0)
    assert cluster.refusal().startswith("no_capacity: no space left on")
    deadline = time.monotonic() + 60
    while cluster.leftovers() and time.monotonic() < deadline:
        node.poll()
        time.sleep(0.1)
    assert cluster.leftovers() == []
    assert node.wait(5) == -15


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        for size in (MIB, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
