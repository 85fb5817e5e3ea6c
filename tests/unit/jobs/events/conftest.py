"""What tests of the doors share: rules, folders with pictures, and a store's clock to turn."""

import hashlib
import time
from collections.abc import Callable
from typing import Any

import pytest

from jobs.addresses import Address, JobPaths
from jobs.bucket import Store
from jobs.events.doors import Doors
from jobs.settings import Settings
from jobs.settings_doors import Events, Rule
from jobs.submission import load_manifest


class Clock:
    """The store's time, some seconds on from now."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead_s


@pytest.fixture
def server(memory: Store) -> Store:
    """In memory: what stores can do is tested elsewhere, and here are many small requests."""
    return memory


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make_rule(model: str) -> Callable[..., Rule]:
    return lambda **changes: Rule(**{"prefix": "inbox/", "model": model, **changes})


@pytest.fixture
def make_doors(
    store: Store,
    make_settings: Callable[..., Settings],
    make_rule: Callable[..., Rule],
    clock: Clock,
) -> Callable[..., Doors]:
    """Doors with one rule, or with `rules`; `events` are the settings of that name."""

    def make(
        rules: tuple[Rule, ...] | None = None, events: Events | None = None, **rule: Any
    ) -> Doors:
        settings = make_settings(rules=rules or (make_rule(**rule),), events=events or Events())
        return Doors(store, settings, now=clock)

    return make


@pytest.fixture
def put(store: Store, bucket: str) -> Callable[..., None]:
    """Writes objects of some bytes under the inbox."""

    def write(*keys: str, body: bytes | None = None) -> None:
        for key in keys:
            content = hashlib.sha256(key.encode()).digest() if body is None else body
            store.write(Address(bucket, f"inbox/{key}"), content, "image/png")

    return write


@pytest.fixture
def close(store: Store, bucket: str) -> Callable[..., None]:
    def write(folder: str, name: str = "_SUCCESS", body: bytes = b"") -> None:
        store.write(Address(bucket, f"inbox/{folder}/{name}"), body)

    return write


@pytest.fixture
def inputs(store, bucket):
    """The keys of a job, below its folder."""

    def of(submitted):
        manifest = load_manifest(store, JobPaths.of(bucket, submitted.record.job_id))
        return [key.rpartition("/")[2] for key in manifest.inputs.keys]

    return of
