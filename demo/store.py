"""The embedded S3 of the demo and the tests: moto's server, loopback, a free port, in memory."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

from moto.server import ThreadedMotoServer

from jobs.addresses import Address
from jobs.store.bucket import Store, StoreOptions

HOST, REGION = "127.0.0.1", "us-east-1"


@contextmanager
def embedded_store(bucket: str) -> Iterator[Store]:
    """A store with one empty bucket; its credentials are put into this process's environment."""
    os.environ.update(
        AWS_ACCESS_KEY_ID="demo",
        AWS_SECRET_ACCESS_KEY="demo",
        AWS_DEFAULT_REGION=REGION,
        AWS_EC2_METADATA_DISABLED="true",
    )
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it logs every request otherwise
    server = ThreadedMotoServer(ip_address=HOST, port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        store = Store(StoreOptions(f"http://{host}:{port}", REGION))
        store.make_bucket(bucket)
        for left in list(store.list(Address(bucket, ""))):  # moto's memory outlives its server
            store.delete(left.address)
        yield store
    finally:
        server.stop()
