"""The reaper on this machine: real processes whose controller and whose switch were both killed."""

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.clusters import make_sweeper
from infra.clusters.local import processes, ray_start, teardown
from infra.clusters.local.cluster import LocalCluster
from jobs.cluster_record import cluster_records
from jobs.clusters.fleet import Fleet
from jobs.clusters.reaper import Reaper
from jobs.submit.planning import plan_for


def hollow_head(port: int, config: Path, temp: Path) -> list[str]:
    code = f"import os, time; os.makedirs({str(temp)!r}); open({str(temp)!r} + '/"
    return [sys.executable, "-c", f"{code}ray_current_cluster', 'w').close(); time.sleep(300)"]


@pytest.fixture
def work_dir() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="zs", ignore_cleanup_errors=True) as name:
        yield Path(name)


@pytest.fixture
def left_behind(store, make_settings, make_manifest, work_dir, monkeypatch):
    monkeypatch.setattr(ray_start, "head_command", hollow_head)
    settings = make_settings(work_dir=work_dir)
    fleet = Fleet(store, settings, "dead", lambda _, spec, folder: LocalCluster(spec, folder))
    raised = fleet.acquire(plan_for(make_manifest(), settings), time.time())
    [switch] = processes.tagged(processes.NODE_TAG, teardown.switch_of(raised.record.cluster_id))
    switch.kill()
    yield raised
    raised.cluster.down()


def test_what_nobody_watches_any_more_is_ended_with_its_folder(
    store, bucket, left_behind, work_dir
):
    cluster_id = left_behind.record.cluster_id
    now = time.time() + 100
    reaper = Reaper(store, bucket, "reaper-1", make_sweeper, lambda: now)
    assert processes.tagged(processes.CLUSTER_TAG, cluster_id) != []
    [reaped] = reaper.reap()
    assert (reaped.cluster_id, reaped.outcome) == (cluster_id, "ended")
    assert processes.tagged(processes.CLUSTER_TAG, cluster_id) == []
    assert "no process is left" in cluster_records(store, bucket)[0].checked
    assert list(work_dir.iterdir()) == []
    assert reaper.reap() == []
