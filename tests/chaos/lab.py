"""Where chaos runs: a store, a network that misbehaves before it, pictures, and real controllers.

A controller is a process of its own that sees the store through the proxy only, and raises real
local clusters with the staged engine; the lab itself looks at the store directly.
"""

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from PIL import Image

from demo.store import embedded_store
from infra.clusters import make_sweeper
from infra.clusters.local.processes import FLEET_TAG, tagged
from jobs.addresses import Address, JobPaths
from jobs.cluster_record import ClusterRecord, cluster_records, known_fleet
from jobs.clusters.reaper import Reaper
from jobs.manifest.manifest import parse_manifest
from jobs.record import Record, RecordFile
from jobs.settings.settings import load_settings
from jobs.store.bucket import Found, Store
from jobs.submit.submission import submit
from tests.chaos import canaries
from tests.chaos.canaries import SECRETS
from tests.chaos.proxy import ChaosProxy

BUCKET, PICTURES, SHARD_SIZE, LEASE_S, IDLE_S = "factory", 400, 8, 6.0, 45.0
BROKEN = {50: b"", 133: b"<Error>AccessDenied</Error>", 271: b"\x89PNG\r\n\x1a\n", 399: b"no"}
SKEW_S = 5.0  # that the reaper allows for
CONTROLLER = """
import signal, sys, threading
from jobs.cli.store import open_store
from jobs.cli.lines import log_to_stderr
from jobs.control.controller import Controller
stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stop.set())
log_to_stderr()
settings, store = open_store(check=False)
Controller(store, settings, engine=sys.argv[1]).watch(stop)
"""


@dataclass
class Lab:
    """One store, one folder, and at most one controller that is meant to live."""

    store: Store
    proxy: ChaosProxy
    folder: Path
    controller: subprocess.Popen[bytes] | None = None
    started: int = 0
    deaths: list[str] = field(default_factory=list)
    clean: set[Found] = field(default_factory=set)

    @property
    def log(self) -> Path:
        return self.folder / "controllers.log"

    @property
    def stage(self) -> Path:
        """The folder that the staged engine looks into."""
        return self.folder / "stage"

    def environment(self, endpoint: str) -> dict[str, str]:
        return {
            **os.environ,
            **SECRETS,
            "ZEROSHIFT_BUCKET": BUCKET,
            "ZEROSHIFT_ENDPOINT_URL": endpoint,
            "ZEROSHIFT_IDLE_WINDOW_S": f"{IDLE_S:g}",
            "ZEROSHIFT_CLUSTER_LEASE_S": f"{LEASE_S:g}",
            "ZEROSHIFT_WORK_DIR": str(self.folder / "w"),
            "ZEROSHIFT_SHARD_SIZE": str(SHARD_SIZE),
            "ZEROSHIFT_POLL_S": "0.5",
        }

    def prepare(self) -> None:
        """Draw the pictures, once for all jobs."""
        for part in (self.stage, self.folder / "w"):
            part.mkdir()
        for number in range(PICTURES):
            self.store.write(input_address(number), BROKEN.get(number, _picture(number)))

    def submit(self, name: str) -> Record:
        manifest = {
            "name": name,
            "inputs": {"prefix": f"s3://{BUCKET}/in/"},
            "output": f"s3://{BUCKET}/results/{name}/",
            "model": "zeroshift/parts-inspector",
        }
        settings = load_settings(self.environment(str(self.store.options.endpoint_url)))
        parsed = parse_manifest(json.dumps(manifest), "m.json")
        return submit(self.store, settings, parsed).record

    def record(self, job_id: str) -> Record:
        return RecordFile(self.store, JobPaths.of(BUCKET, job_id)).load()

    def clusters(self) -> list[ClusterRecord]:
        return cluster_records(self.store, BUCKET)

    def tend(self) -> None:
        """See to it that a controller runs; one that ended unasked is noted."""
        if self.controller is not None and self.controller.poll() is not None:
            self.deaths.append(f"controller {self.started} ended: {self.controller.poll()}")
            self.controller = None
        if self.controller is None:
            self.started += 1
            command = [sys.executable, "-c", CONTROLLER, f"fake:{self.stage}"]
            environment = self.environment(self.proxy.url)
            with self.log.open("ab") as out:
                out.write(f"--- controller {self.started}\n".encode())
                self.controller = subprocess.Popen(
                    command, env=environment, stdout=out, stderr=out, start_new_session=True
                )

    def kill_controller(self) -> None:
        assert self.controller is not None, "there is none to kill"
        self.controller.send_signal(signal.SIGKILL)
        self.controller.wait()
        self.controller = None

    def rest(self) -> None:
        """Ask the controller to go, and its cluster with it; that it does not is noted."""
        process, self.controller = self.controller, None
        if process is not None:
            process.terminate()
            try:
                process.wait(120)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                self.deaths.append("a controller did not go when asked")

    def reap(self) -> None:
        """What `zeroshift reap` does, once every lease of a dead controller has run out."""
        dead = [each.lease_until for each in self.clusters() if each.gone_at is None]
        time.sleep(max(0.0, max(dead, default=0.0) + SKEW_S + 0.5 - time.time()))
        Reaper(self.store, BUCKET, "lab", make_sweeper, time.time).reap()

    def left(self) -> list[str]:
        """Processes of ours that still run."""
        fleet = known_fleet(self.store, BUCKET)
        found: list[psutil.Process] = tagged(FLEET_TAG, fleet) if fleet else []
        return [f"{process.pid} {' '.join(_words(process))[:60]}" for process in found]

    def leaks(self) -> list[str]:
        """Where the secrets of our processes turn up beside their environments."""
        files = canaries.in_files(self.folder)
        objects = canaries.in_objects(self.store, BUCKET, self.clean)
        return [*objects, *files, *canaries.in_arguments()]

    def asked(self, job_id: str) -> list[str]:
        """Every question that the engine was asked for the job, in no order."""
        notes = [each.read_text().splitlines() for each in self.stage.glob("asked-*")]
        return [line for lines in notes for line in lines if line.startswith(f"{job_id}/")]


@contextmanager
def lab(folder: Path, seed: int = 0) -> Iterator[Lab]:
    """A lab in `folder`, whose path must be short; everything that it started ends with it."""
    with (
        embedded_store(BUCKET) as store,
        ChaosProxy(str(store.options.endpoint_url), seed).serving() as proxy,
    ):
        made = Lab(store, proxy, folder)
        made.prepare()
        try:
            yield made
        finally:
            proxy.trouble(None)
            made.rest()
            made.reap()


def input_address(number: int) -> Address:
    return Address(BUCKET, f"in/{number:03d}.png")


def _picture(number: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (64, 64), (number % 256, 40, 90)).save(out, "PNG")
    return out.getvalue()


def _words(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []
