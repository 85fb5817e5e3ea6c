"""The whole product, nothing faked: `submit-job --wait` on real Ray, Serve, vLLM and the bundled
model, with an embedded S3. One job is run, and everything is read from what it left."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from demo.batch import Shot, shots
from demo.score import score
from demo.store import embedded_store
from infra.clusters.local.processes import CLUSTER_TAG, tagged
from jobs.addresses import Address, JobPaths
from jobs.clusters.fleet import cluster_records
from jobs.cost.ledger import entries
from jobs.queue import queued
from jobs.record import RecordFile
from jobs.store.bucket import Store

pytestmark = [pytest.mark.slow, pytest.mark.timeout(420)]

BUCKET, PICTURES, SEED = "factory", 40, 700_000
INBOX, RESULTS = Address(BUCKET, "inbox/night/"), Address(BUCKET, "results/night/")
NOT_PICTURES = {"empty.jpg": b"", "notes.png": b"<?xml version='1.0'?><Error>AccessDenied</Error>"}


@dataclass(frozen=True)
class Done:
    """What one job left."""

    status: int
    stdout: str
    stderr: str
    batch: list[Shot]
    rows: dict[str, dict[str, Any]]
    receipt: dict[str, Any]
    store: Store

    @property
    def answer(self) -> dict[str, Any]:
        return dict(json.loads(self.stdout))


def cli_environment(store: Store) -> dict[str, str]:
    return {
        **os.environ,
        "ZEROSHIFT_BUCKET": BUCKET,
        "ZEROSHIFT_ENDPOINT_URL": str(store.options.endpoint_url),
        "ZEROSHIFT_IDLE_WINDOW_S": "1",
    }


def cli(store: Store, folder: Path, module: str, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env=cli_environment(store),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Done]:
    folder = tmp_path_factory.mktemp("job")
    batch = list(shots(PICTURES, SEED))
    with embedded_store(BUCKET) as store:
        for shot in batch:
            store.write(INBOX / shot.name, shot.body)
        for name, body in NOT_PICTURES.items():
            store.write(INBOX / name, body)
        manifest = {
            "name": "night",
            "inputs": {"prefix": str(INBOX)},
            "model": "zeroshift/parts-inspector",
        }
        (folder / "manifest.json").write_text(json.dumps(manifest))
        run = cli(store, folder, "jobs.cli.submit", "manifest.json", "--wait", "--json")
        rows = [
            json.loads(line)
            for found in store.list(RESULTS / "part-")
            for line in store.read(found.address).splitlines()
        ]
        yield Done(
            run.returncode,
            run.stdout,
            run.stderr,
            batch,
            {row["key"].rpartition("/")[2]: row for row in rows},
            json.loads(store.read(RESULTS / "receipt.json")),
            store,
        )


def test_a_job_with_two_files_that_are_no_pictures_ends_with_status_3(done: Done) -> None:
    assert done.status == 3, done.stderr
    assert done.answer["state"] == "completed_with_errors"


def test_every_input_has_exactly_one_row(done: Done) -> None:
    names = {shot.name for shot in done.batch} | set(NOT_PICTURES)
    assert set(done.rows) == names
    assert done.receipt["images"] == len(names)


def test_what_is_no_picture_is_an_error_row_with_its_code(done: Done) -> None:
    codes = {name: done.rows[name]["error"]["code"] for name in NOT_PICTURES}
    assert codes == {"empty.jpg": "empty_object", "notes.png": "not_an_image"}


def test_the_bundled_model_judges_pictures_it_has_never_seen(done: Done) -> None:
    result = score((shot.part, done.rows[shot.name]["output"]) for shot in done.batch)
    assert result.verdict >= 0.9, result
    assert result.kinds >= 0.8, result


def test_boxes_are_in_pixels_of_the_original_picture(done: Done) -> None:
    for shot in done.batch:
        row = done.rows[shot.name]
        width, height = shot.part.image.size
        assert (row["image"]["width"], row["image"]["height"]) == (width, height)
        for defect in row["output"]["defects"]:
            x1, y1, x2, y2 = defect["bbox"]
            assert 0 <= x1 < x2 <= width
            assert 0 <= y1 < y2 <= height


def test_parquet_holds_the_same_rows(done: Done) -> None:
    table = pq.read_table(io.BytesIO(done.store.read(RESULTS / "results.parquet"))).to_pylist()
    by_name = {row["key"].rpartition("/")[2]: row for row in table}
    assert set(by_name) == set(done.rows)
    assert all(by_name[name]["status"] == row["status"] for name, row in done.rows.items())


def test_the_bill_is_final_and_its_parts_sum_to_the_total_exactly(done: Done) -> None:
    bill = done.receipt["bill"]
    assert bill["final"]
    assert sum(Decimal(p["usd"]) for p in bill["phases"]) == Decimal(bill["total_usd"])
    assert sum(Decimal(p["seconds"]) for p in bill["phases"]) == Decimal(bill["billed_s"])
    work = next(Decimal(p["usd"]) for p in bill["phases"] if p["phase"] == "work")
    assert sum(Decimal(row["cost_usd"]) for row in done.rows.values()) == work
    assert work > 0


def test_the_cluster_is_gone_and_the_receipt_says_so(done: Done) -> None:
    cluster = done.answer["cluster_id"]
    assert done.receipt["teardown"]["cluster_id"] == cluster
    assert done.receipt["teardown"]["checked"] == "no process is left"
    assert tagged(CLUSTER_TAG, cluster) == []
    record = next(r for r in cluster_records(done.store, BUCKET) if r.cluster_id == cluster)
    assert record.state == "down"
    assert all(node.gone_at is not None for node in record.nodes)


def test_the_ledger_has_an_entry_for_the_node(done: Done) -> None:
    kept = [entry for entry in entries(done.store, BUCKET) if entry.kind == "node"]
    ours = [entry for entry in kept if entry.job_id == done.receipt["job_id"]]
    total = sum(entry.amount for entry in ours)
    assert total == Decimal(done.receipt["bill"]["total_usd"])


def test_the_success_marker_is_there_and_names_the_job(done: Done) -> None:
    assert json.loads(done.store.read(RESULTS / "_SUCCESS")) == {"job_id": done.answer["job_id"]}


def test_the_same_manifest_again_is_the_same_job_and_costs_nothing(
    done: Done, tmp_path: Path
) -> None:
    manifest = {
        "name": "night",
        "inputs": {"prefix": str(INBOX)},
        "model": "zeroshift/parts-inspector",
    }
    (tmp_path / "again.json").write_text(json.dumps(manifest))
    clusters = len(cluster_records(done.store, BUCKET))
    again = cli(done.store, tmp_path, "jobs.cli.submit", "again.json", "--wait", "--json")
    assert again.returncode == 3
    assert json.loads(again.stdout)["job_id"] == done.answer["job_id"]
    assert len(cluster_records(done.store, BUCKET)) == clusters


def test_an_interrupted_job_goes_back_to_the_queue_and_leaves_no_process(
    done: Done, tmp_path: Path
) -> None:
    manifest = {
        "name": "stopped",
        "inputs": {"prefix": str(INBOX)},
        "model": "zeroshift/parts-inspector",
    }
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with subprocess.Popen(
        [sys.executable, "-m", "jobs.cli.submit", "manifest.json", "--wait"],
        env=cli_environment(done.store),
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:  # until the worker runs on the cluster
            if "  running  " in line:
                process.terminate()
                break
        rest = process.stderr.read()
        assert process.wait(120) == 130, rest
    assert "stays queued" in rest
    job = line.split()[0]
    record = RecordFile(done.store, JobPaths.of(BUCKET, job)).load()
    assert (record.state, record.owner) == ("queued", "")
    assert job in queued(done.store, BUCKET)
    assert tagged(CLUSTER_TAG, record.cluster_id) == []
