"""One embedded S3 for the whole session, and a fresh bucket in it for each test."""

import os
import uuid
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from demo.store import embedded_store
from jobs.bucket import Store

HEAVY = ("ray", "vllm")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without Ray and vLLM the slow tests skip on a laptop; in CI they run, and so fail."""
    missing = [name for name in HEAVY if find_spec(name) is None]
    if not missing or os.environ.get("CI"):
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason=f"not installed: {', '.join(missing)}"))


@pytest.fixture(scope="session")
def server() -> Iterator[Store]:
    """The embedded store itself; tests want `store`, whose bucket is their own."""
    with embedded_store("session") as store:
        yield store


@pytest.fixture
def bucket(server: Store) -> str:
    """The name of an empty bucket that no other test sees."""
    name = f"b-{uuid.uuid4().hex[:12]}"
    server.make_bucket(name)
    return name


@pytest.fixture
def store(server: Store, bucket: str) -> Store:
    """The embedded store, with `bucket` made."""
    return server
