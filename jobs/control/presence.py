"""Presence: a controller says that it is there, so that a submitter knows whether to wait."""

import json
import time

from jobs.addresses import controllers_root
from jobs.lease import LEASE_S
from jobs.store.bucket import Store


def announce(store: Store, bucket: str, controller: str) -> None:
    body = json.dumps({"controller": controller, "lease_until": time.time() + LEASE_S})
    store.write(controllers_root(bucket) / f"{controller}.json", body.encode())


def leave(store: Store, bucket: str, controller: str) -> None:
    store.delete(controllers_root(bucket) / f"{controller}.json")


def present(store: Store, bucket: str) -> list[str]:
    """Controllers whose lease has not run out."""
    found = [json.loads(store.read(each.address)) for each in store.list(controllers_root(bucket))]
    return [each["controller"] for each in found if each["lease_until"] > time.time()]
