"""Canaries: secrets that a run is given, and where they turn up that they should not."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import psutil

from jobs.addresses import Address
from jobs.store.bucket import Found, Store

SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "canary/secret+Ab3kW9xQ7mZ1vT5r",
    "AWS_SESSION_TOKEN": "canary/token+Lp8sD2fG6hJ4kQ0w",
}
MARKS = tuple(secret.encode() for secret in SECRETS.values())
MOST = 64 << 20  # bytes of one file that are looked through


def in_objects(store: Store, bucket: str, clean: set[Found]) -> Iterator[str]:
    """Of objects that are not in `clean`, to which those that are clean are added."""
    for found in store.list(Address(bucket, "")):
        if found in clean:
            continue
        if _sings(str(found.address).encode() + store.read(found.address)):
            yield f"object {found.address}"
        else:
            clean.add(found)


def in_files(folder: Path) -> Iterator[str]:
    """Of all regular files below: logs, records, sockets' folders, spools."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            try:
                with path.open("rb") as file:
                    body = file.read(MOST)
            except OSError:  # gone meanwhile
                continue
            if _sings(body) or (path.suffix == ".gz" and _sings(gzip.decompress(body))):
                yield f"file {path}"


def in_arguments() -> Iterator[str]:
    """Of every process that can be seen."""
    for process in psutil.process_iter(["pid"]):
        try:
            words = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        except OSError:
            continue
        if _sings(words):
            yield f"arguments of {process.pid}: {words[:200]!r}"


def _sings(body: bytes) -> bool:
    return any(mark in body for mark in MARKS)
