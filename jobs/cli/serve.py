"""`zeroshift serve`: the HTTP API, and by default the controller beside it, in one process."""

import gc
import logging
import os
import sys
import threading
import time
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from jobs.api.doorstep import roots_of
from jobs.api.serving import HIGHEST_PORT, Server
from jobs.cli.lines import end_like_ctrl_c, errors_as_lines, log_to_stderr
from jobs.cli.quick import joined, parser_of
from jobs.errors import UserError
from jobs.hosts import is_this_machine

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from jobs.settings.settings import Settings
    from jobs.store.bucket import Store

HOST, PORT = "127.0.0.1", 8321
HEAD_START_S = 0.05  # for who waits at the door: what is imported next would slow the answer down


def serve(arguments: Sequence[str]) -> None:
    """Serve the API, and work what is queued. Without keys only this machine is let in."""
    # /healthz answers at once; the rest when the settings are read and the bucket has answered.
    asked = _parser().parse_args(joined(arguments))
    with errors_as_lines():
        end_like_ctrl_c()
        local = is_this_machine(asked.host)
        opened = None if local else _opened(local)  # before anybody is let in
        with Server(asked.host, asked.port) as server:
            with _all_kept():
                settings, store, has_keys = opened or _opened(local)
                log_to_stderr()
                audit_to_stderr()
                app = _app(store, settings, local)
                server.doorstep.open(app, roots_of(app))
                time.sleep(HEAD_START_S)
                _add_pages(app)
            server.doorstep.open(app)
            try:
                _tell(_greeting(server, settings, has_keys, asked.work))
                _work(server, store, settings, asked.work)
            except KeyboardInterrupt:
                _tell("ending")


@contextmanager
def _all_kept() -> Iterator[None]:
    """Without the collector: what is imported stays, and looking it through takes a tenth."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # found by reading all packages
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def audit_to_stderr() -> None:
    """The audit log as JSON lines, without the time that other lines begin with."""
    handler, logger = logging.StreamHandler(sys.stderr), logging.getLogger("zeroshift.audit")
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False


def _opened(local: bool) -> "tuple[Settings, Store, bool]":
    """Settings, store, and whether there are keys; `UserError` when there must be some."""
    from jobs.api.access.keys import all_keys
    from jobs.cli.store import open_store

    settings, store = open_store()
    has_keys = bool(all_keys(store, settings.bucket))
    if not has_keys and not local:
        raise UserError(
            "host: without keys only this machine may be served; allowed: --host 127.0.0.1, or "
            "make a key with `zeroshift keys create NAME`"
        )
    return settings, store, has_keys


def _app(store: "Store", settings: "Settings", local: bool) -> Any:
    from jobs.api.app import make_app

    return make_app(store, settings, is_local=local, registry_of=_registry_of)


def _add_pages(app: Any) -> None:
    from jobs.api.app import add_routes
    from jobs.console import CONSOLE

    add_routes(app, CONSOLE)


def _registry_of(store: "Store", settings: "Settings") -> "CollectorRegistry":
    from jobs.metrics import registry_of

    return registry_of(store, settings)


def _greeting(server: Server, settings: "Settings", has_keys: bool, work: bool) -> str:
    does = "and works" if work else "without working"
    said = f"serving bucket {settings.bucket} at {server.url} {does}"
    if has_keys:
        return said
    return f"{said}\nno keys: only this machine is let in; see zeroshift keys create"


def _tell(line: str) -> None:
    """In one write; a server does not end because nobody reads its log any longer."""
    with suppress(OSError):
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def _work(server: Server, store: "Store", settings: "Settings", work: bool) -> None:
    """Move batches on, and jobs too, until a signal comes."""
    from jobs.api.batch.work import BatchWork
    from jobs.lease import Rounds

    stop = threading.Event()
    batches = BatchWork(store, settings, stop=stop, patience_s=settings.poll_s)
    with Rounds(batches.round, settings.poll_s, "batches"):
        try:
            if work:
                _watch(store, settings)
            else:
                server.wait()
        finally:
            stop.set()
            batches.close()


def _watch(store: "Store", settings: "Settings") -> None:
    from jobs.control.controller import Controller
    from jobs.telling.outbox import make_outbox

    outbox = make_outbox(store, settings.bucket, settings.webhook, os.environ)
    Controller(store, settings, outbox=outbox).watch(threading.Event())


def _port(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        allowed = f"allowed: 0 to {HIGHEST_PORT}"
        raise ArgumentTypeError(f"found {text!r}; {allowed}") from None


def _parser() -> ArgumentParser:
    parser = parser_of("serve", serve, as_json=False)
    parser.add_argument("--host", default=HOST, help=f"address to listen on ({HOST})")
    parser.add_argument(
        "--port", type=_port, default=PORT, help=f"port; 0 takes a free one ({PORT})"
    )
    parser.add_argument(
        "--no-work", dest="work", action="store_false", help="only serve; jobs wait for others"
    )
    parser.add_argument("--work", action="store_true", help="work what is queued (the default)")
    parser.set_defaults(work=True)
    return parser
