"""A search that finds nothing proves something only when it finds what is there."""

import subprocess
import sys
from pathlib import Path

from jobs.addresses import Address
from jobs.store.bucket import Store
from tests.chaos import canaries

SECRET = canaries.SECRETS["AWS_SESSION_TOKEN"]


def test_a_secret_in_an_object_is_found(store: Store, bucket: str) -> None:
    store.write(Address(bucket, "zeroshift/a.json"), f"x {SECRET} y".encode())
    assert list(canaries.in_objects(store, bucket, set())) == [
        f"object s3://{bucket}/zeroshift/a.json"
    ]


def test_a_secret_in_a_log_is_found(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/a.log").write_text(f"token={SECRET}")
    (tmp_path / "logs/b.log").write_text("token=***")
    assert list(canaries.in_files(tmp_path)) == [f"file {tmp_path}/logs/a.log"]


def test_a_secret_in_a_process_arguments_is_found() -> None:
    command = [sys.executable, "-c", "input()", SECRET]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        found = list(canaries.in_arguments())
        process.communicate(b"\n")
    assert [each.split(":")[0] for each in found] == [f"arguments of {process.pid}"]
