"""Reports are made in memory, and land in a dictionary of files."""

from collections.abc import Callable
from typing import Any

import pytest

from jobs.report.write import write_report
from jobs.store.bucket import Store
from tests.finished_jobs import finished_job


@pytest.fixture
def server(memory: Store) -> Store:
    return memory


@pytest.fixture
def report(store: Store, bucket: str) -> Callable[..., dict[str, str]]:
    """Makes a finished job and its report; answers the files by name."""

    def make(count: int, most: int = 1000, **how: Any) -> dict[str, str]:
        paths, output, receipt = finished_job(store, bucket, count, **how)
        files: dict[str, str] = {}

        def write(name: str, body: bytes, kind: str) -> None:
            files[name] = body.decode()

        written = write_report(store, paths, output, receipt, write, most)
        assert written == list(files)
        return files

    return make
