"""`python -m tests.integration.controller_of_fakes`: a real controller over clusters of nothing.

It is the product's controller in a process of its own, to be killed; its worker writes made-up rows
in the product's way, shard by shard. Settings come from the environment, as for `zeroshift watch`.
"""

import signal
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from infra.clusters.base import Cluster, ClusterSpec
from infra.clusters.fake import FakeCluster, FakeSweeper
from jobs.addresses import Address, JobPaths
from jobs.cli.lines import log_to_stderr
from jobs.cli.store import open_store
from jobs.commit import commit, make_commit
from jobs.control.controller import Controller
from jobs.order import Attempt, Order, PinnedInput
from jobs.rows import Row
from jobs.store.bucket import Store


def work(store: Store, arguments: Sequence[str]) -> int:
    """Every shard without a marker: a row for each input, committed."""
    paths, epoch = JobPaths(Address.parse(arguments[1])), int(arguments[3])
    order = Order.model_validate_json(store.read(paths.order))
    attempt = Attempt(epoch=epoch, ready_at=time.time())
    store.write(paths.attempt(epoch), attempt.model_dump_json().encode())
    marked = {each.address.name for each in store.list(paths.markers)}
    for shard in range(order.shards):
        if paths.marker_of(shard).name not in marked:
            made = make_commit(paths, rows(store, paths, shard), shard, epoch, 1, time.time())
            commit(store, paths, *made)
    return 0


def rows(store: Store, paths: JobPaths, shard: int) -> list[Row]:
    lines = store.read(paths.inputs_of(shard)).decode().splitlines()
    inputs = [PinnedInput.model_validate_json(line) for line in lines]
    return [Row(key=each.address, version=each.etag, status="ok", output={}) for each in inputs]


def main() -> None:
    stop, made = threading.Event(), list[FakeCluster]()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    log_to_stderr()
    settings, store = open_store(check=False)

    def make(provider: str, spec: ClusterSpec, work_dir: Path) -> Cluster:
        def run(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
            return work(store, arguments)

        made.append(FakeCluster(spec, run))
        return made[-1]

    controller = Controller(
        store, settings, engine="fake", make=make, sweeper=lambda provider: FakeSweeper(made)
    )
    controller.watch(stop)


if __name__ == "__main__":
    main()
