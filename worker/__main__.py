"""`python -m worker work JOB_ADDRESS --epoch N`, `retire`, `probe FILE` and `preflight`.

Launched on a cluster by its controller; the cluster's address is in RAY_ADDRESS, the store's
options, without secrets, in ZEROSHIFT_STORE. Exit status 0, or 1 with one line on stderr. `work`
ends with 75 when it was given notice by SIGTERM and shards are left, and SIGINT stops it at once.
"""

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.addresses import Address, JobPaths
from jobs.errors import ZeroshiftError
from jobs.order import Attempt, Order
from jobs.store.bucket import Store, StoreOptions
from worker.errors import HandedBack, ShardFailed, StartFailed
from worker.import_check import import_check

if TYPE_CHECKING:
    from worker.hand_back import HandBack


def main() -> int:
    arguments = _parser().parse_args()
    if arguments.command == "preflight":
        return _preflight()
    if arguments.command == "probe":
        return _probe(Path(arguments.file), arguments.engine)
    if arguments.command == "retire":
        return _retire()
    paths = JobPaths(Address.parse(arguments.job))
    try:
        return _connected(_store(), paths, arguments.epoch, arguments.engine)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def _store() -> Store:
    return Store(StoreOptions(**json.loads(os.environ["ZEROSHIFT_STORE"])))


def _preflight() -> int:
    from worker.preflight import preflight

    problems = preflight()
    for problem in problems:
        print(f"start_failed: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _probe(file: Path, engine: str) -> int:
    from worker.engines.errors import EngineError
    from worker.probe import probe

    try:
        print(json.dumps(probe(_store(), file, engine)), flush=True)
    except (EngineError, ShardFailed, ZeroshiftError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


def _retire() -> int:
    from worker import deploy  # Ray takes a second to import: not before the arguments are right

    deploy.connect(os.environ["RAY_ADDRESS"])
    deploy.retire()
    return 0


def _connected(store: Store, paths: JobPaths, epoch: int, engine: str) -> int:
    from worker.hand_back import HANDED_BACK, HandBack

    hand_back = HandBack()
    hand_back.install()
    try:
        with import_check(engine) as check:
            from worker import deploy

            deploy.connect(os.environ["RAY_ADDRESS"])
            hand_back.install()  # Ray has taken SIGTERM meanwhile
            return _work(store, paths, epoch, engine, hand_back, check)
    except HandedBack as words:
        print(f"handed back: {words}", file=sys.stderr, flush=True)
        return HANDED_BACK


def _work(
    store: Store,
    paths: JobPaths,
    epoch: int,
    engine: str,
    hand_back: "HandBack",
    check: Callable[[], None],
) -> int:
    from worker.driver import Driver, report

    attempt, driver = Attempt(epoch=epoch), None
    error: str | None = None
    try:
        order = Order.model_validate_json(store.read(paths.order))
        handle = _deployed(order, engine, store, check)
        attempt = attempt.model_copy(update={"ready_at": time.time()})
        report(store, paths, attempt)
        driver = Driver(store, paths, order, epoch, handle, hand_back)
        driver.run()
    except (ZeroshiftError, ShardFailed, RuntimeError) as failure:
        kind = "start_failed" if isinstance(failure, StartFailed) else type(failure).__name__
        error = f"{kind}: {failure}"
        print(error, file=sys.stderr, flush=True)
    finally:
        ended = {"ended_at": time.time(), "error": error}
        preemptions = driver.preemptions if driver else 0
        report(store, paths, attempt.model_copy(update={**ended, "preemptions": preemptions}))
    return 0 if error is None else 1


def _deployed(order: Order, engine: str, store: Store, check: Callable[[], None]) -> Any:
    from worker import deploy

    try:
        return deploy.deploy(order, engine, store.options, check)
    except RuntimeError as error:
        raise StartFailed(" ".join(str(error).split())) from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m worker", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    work = commands.add_parser("work", help="work the open shards of a job")
    work.add_argument("job", help="s3://BUCKET/zeroshift/jobs/JOB/")
    work.add_argument("--epoch", type=int, required=True, help="the claim that this works under")
    work.add_argument("--engine", default="vllm", help="vllm, or fake in tests")
    commands.add_parser("retire", help="remove the replicas")
    asked = commands.add_parser("probe", help="ask a few pictures with and without the grammar")
    asked.add_argument("file", help="an order and its inputs, as JSON")
    asked.add_argument("--engine", default="vllm", help="vllm, or fake in tests")
    commands.add_parser("preflight", help="import what a replica needs")
    return parser


if __name__ == "__main__":
    sys.exit(main())
