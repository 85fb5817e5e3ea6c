"""The stores of the tests, one of each kind for the session, and a fresh bucket for each test.

Tests get the embedded one; those that are parametrized with `server`, indirectly, run on Ceph's
RADOS gateway too.
"""

import os
import subprocess
import uuid
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from demo.store import embedded_store
from jobs.store.bucket import Store, StoreOptions
from jobs.store.memory import MemoryStore
from tests.browser import chromium, look, violations

__all__ = ["chromium", "look", "violations"]  # fixtures for every test

HEAVY = ("ray", "vllm")
CEPH = Path(__file__).parents[1] / "scripts/ceph_rgw"
NOT_INSTALLED = 3


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without Ray and vLLM the slow tests skip on a laptop; in CI they run, and so fail."""
    missing = [name for name in HEAVY if find_spec(name) is None]
    if not missing or os.environ.get("CI"):
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason=f"not installed: {', '.join(missing)}"))


@pytest.fixture(scope="session")
def moto() -> Iterator[Store]:
    """The embedded store."""
    with embedded_store("session") as store:
        yield store


@pytest.fixture(scope="session")
def ceph(moto: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Ceph's gateway, for the keys of the embedded store; a laptop without it skips, CI fails."""
    folder = tmp_path_factory.mktemp("ceph")
    started = subprocess.run([CEPH, "start", folder], capture_output=True, text=True, timeout=120)
    if started.returncode == NOT_INSTALLED and not _must_have_ceph():
        pytest.skip(started.stderr.strip())
    assert started.returncode == 0, started.stderr
    try:
        yield Store(StoreOptions(started.stdout.strip()))
    finally:
        subprocess.run([CEPH, "stop", folder], check=True, timeout=60)


def _must_have_ceph() -> bool:
    """As REQUIRE_CEPH says, 1 or 0; without it, in CI."""
    return os.environ.get("REQUIRE_CEPH", "1" if os.environ.get("CI") else "0") == "1"


@pytest.fixture(scope="session")
def memory() -> Store:
    """The fake store."""
    return MemoryStore()


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Store:
    """The store of this test, `moto` unless it asks for another."""
    found: Store = request.getfixturevalue(getattr(request, "param", "moto"))
    return found


@pytest.fixture
def bucket(server: Store) -> str:
    """The name of an empty bucket that no other test sees."""
    name = f"b-{uuid.uuid4().hex[:12]}"
    server.make_bucket(name)
    return name


@pytest.fixture
def store(server: Store, bucket: str) -> Store:
    """The store, with `bucket` made."""
    return server
