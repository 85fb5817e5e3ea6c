"""What tests of jobs share: settings, a model, pictures, manifests, and clusters without machines.

A fake cluster's worker is the real shard code with the fake engine, one shard after the other.
"""

import asyncio
import io
import json
import logging
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from infra.clusters.base import Cluster, ClusterSpec, WorkerProcess
from infra.clusters.fake import FakeCluster
from jobs.addresses import Address, JobPaths
from jobs.control.controller import Controller
from jobs.cost.receipt import read_receipt
from jobs.manifest.manifest import Manifest, parse_manifest
from jobs.order import Attempt, Order
from jobs.record import Record, RecordFile
from jobs.settings.groups import LocalOffer
from jobs.settings.settings import Settings
from jobs.store.bucket import Store
from jobs.submit.submission import submit
from worker.engines.base import EngineOptions
from worker.engines.fake import FakeEngine
from worker.families import load_family
from worker.pictures import Limits
from worker.shard import ShardRun, Tools


@pytest.fixture
def make_settings(store: Store, bucket: str, tmp_path: Path) -> Callable[..., Settings]:
    def make(usd_per_hour: str = "3.60", **changes: Any) -> Settings:
        common = {"bucket": bucket, "endpoint_url": store.options.endpoint_url, "poll_s": 0.01}
        common["max_setbacks"] = 0  # a fault ends the job at once, but where it is tested
        local = LocalOffer(usd_per_hour=Decimal(usd_per_hour))
        return Settings(**{**common, "work_dir": tmp_path, "local": local, **changes})

    return make


@pytest.fixture
def settings(make_settings: Callable[..., Settings]) -> Settings:
    return make_settings()


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A folder that passes for a model until somebody loads its weights."""
    folder = tmp_path / "model"
    bundled = Path(str(files("demo"))) / "model"
    shutil.copytree(bundled, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    (folder / "x.safetensors").write_bytes(b"")
    return str(folder)


@pytest.fixture
def make_manifest(bucket: str, model: str) -> Callable[..., Manifest]:
    def make(**changes: Any) -> Manifest:
        inputs = {"prefix": f"s3://{bucket}/in/"}
        return parse_manifest(json.dumps({"inputs": inputs, "model": model, **changes}), "m.json")

    return make


@pytest.fixture
def put_pictures(store: Store, bucket: str) -> Callable[..., None]:
    """Writes pictures, and things that are none, under a prefix."""

    def put(count: int, broken: int = 0, prefix: str = "in/") -> None:
        folder = Address(bucket, prefix)
        file = io.BytesIO()
        Image.new("RGB", (56, 56), "grey").save(file, "PNG")
        for number in range(count):
            store.write(folder / f"{number:03d}.png", file.getvalue(), "image/png")
        for number in range(broken):
            store.write(folder / f"broken-{number}.png", b"not a picture", "image/png")

    return put


@pytest.fixture
def submitted(
    store: Store, settings: Settings, make_manifest: Callable[..., Manifest]
) -> Callable[..., Record]:
    """Submits a job and answers its first record."""
    return lambda **changes: submit(store, settings, make_manifest(**changes)).record


@pytest.fixture
def load(store: Store, bucket: str) -> Callable[[Record], Record]:
    """The record as it stands now."""
    return lambda record: RecordFile(store, JobPaths.of(bucket, record.job_id)).load()


@pytest.fixture
def receipt(store: Store) -> Callable[[Record], dict[str, Any]]:
    return lambda record: read_receipt(store.read(Address.parse(record.output) / "receipt.json"))


@pytest.fixture
def controller(store: Store, settings: Settings, workshop: "Workshop") -> Callable[..., Controller]:
    """Makes controllers whose clusters come from the workshop."""

    def make(settings: Settings = settings) -> Controller:
        return Controller(store, settings, engine="fake", make=workshop.make)

    return make


@pytest.fixture
def here(
    store: Store, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """An empty working folder with this test's settings in the environment, for commands.

    What a command changes in the process is put back: its log's handlers and SIGTERM's.
    """
    names = {"BUCKET": bucket, "ENDPOINT_URL": store.options.endpoint_url, "POLL_S": "0.01"}
    names["MAX_SETBACKS"] = "0"  # as in make_settings
    for name, value in {**names, "WORK_DIR": tmp_path}.items():
        monkeypatch.setenv(f"ZEROSHIFT_{name}", str(value))
    monkeypatch.delenv("ZEROSHIFT_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    # A client takes a tenth of a second to make: only one to another place is made anew.
    monkeypatch.setattr(
        "jobs.cli.store.Store", lambda to: store if to == store.options else Store(to)
    )
    logger, handler = logging.getLogger("zeroshift"), signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.setattr(logger, "level", logger.level)
    yield tmp_path
    signal.signal(signal.SIGTERM, handler)


@pytest.fixture
def workshop(store: Store) -> "Workshop":
    return Workshop(store)


class Workshop:
    """Makes fake clusters and remembers them. `before` is called by each worker before it works,
    with the job's paths and its epoch; a status that it answers ends the worker."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.made: list[StoppingCluster] = []
        self.starts = True
        self.stopped = threading.Event()
        self.before: Callable[[JobPaths, int], int | None] = lambda paths, epoch: None

    def make(self, provider: str, spec: ClusterSpec, work_dir: Path) -> Cluster:
        cluster = StoppingCluster(spec, self.work, self.starts)
        cluster.stopped = self.stopped
        self.made.append(cluster)
        return cluster

    def work(self, arguments: Sequence[str], environment: Mapping[str, str]) -> int:
        paths, epoch = JobPaths(Address.parse(arguments[1])), int(arguments[3])
        self.report(paths, Attempt(epoch=epoch, ready_at=time.time()))
        status = self.before(paths, epoch)
        if status is not None:
            return status
        return self.work_shards(paths, epoch)

    def work_shards(self, paths: JobPaths, epoch: int, shards: Sequence[int] | None = None) -> int:
        """Work these shards, or all."""
        asyncio.run(work_shards(self._store, paths, epoch, shards))
        return 0

    def report(self, paths: JobPaths, attempt: Attempt) -> None:
        self._store.write(paths.attempt(attempt.epoch), attempt.model_dump_json().encode())


class StoppingCluster(FakeCluster):
    """Sets `stopped` when its worker is to end, as a signal would."""

    stopped: threading.Event

    def stop(self, process: WorkerProcess) -> None:
        self.stopped.set()
        super().stop(process)


async def work_shards(
    store: Store, paths: JobPaths, epoch: int, shards: Sequence[int] | None = None
) -> None:
    """Work every shard of a job, or these, in this process, with the fake engine."""
    order = Order.model_validate_json(store.read(paths.order))
    engine = FakeEngine(EngineOptions(order.model), pause_s=0.01)  # work that can be billed
    await engine.start()
    family = load_family(Path(order.model), order.min_pixels, order.max_pixels)
    with ThreadPoolExecutor(4) as threads:
        tools = Tools(store, engine, family, Limits(), threads)
        for shard in range(order.shards) if shards is None else shards:
            await ShardRun(tools, order, paths, shard, epoch, 1).run()
