"""What tests of the doors share: rules, folders with pictures, and a store's clock to turn."""

import hashlib
import json
import random
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote_plus

import boto3
import pytest
from moto import mock_aws

from jobs.addresses import Address, JobPaths
from jobs.events.doors import Doors
from jobs.events.queue import Message
from jobs.queue import queued
from jobs.settings.doors import Events, Rule
from jobs.settings.settings import Settings
from jobs.store.bucket import Store
from jobs.submit.submission import load_manifest


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


@pytest.fixture
def sqs(bucket) -> Iterator["Sqs"]:
    """In this process, beside whatever else is embedded: nothing of that is reset."""
    mocked = mock_aws()
    mocked.start(reset=False)
    try:
        yield Sqs(bucket)
    finally:
        mocked.stop(remove_data=False)


class Sqs:
    """Two queues for this test alone."""

    def __init__(self, name: str) -> None:
        self.client = boto3.client("sqs", region_name="us-east-1")
        self.url, self.dead = (
            self.client.create_queue(QueueName=f"{name}-{kind}")["QueueUrl"] for kind in "ab"
        )
        self.events = Events(
            queue_url=self.url, dead_letter_url=self.dead, wait_s=0, list_every_s=1e9
        )

    def send(self, *bodies: str) -> None:
        for start in range(0, len(bodies), 10):
            part = enumerate(bodies[start : start + 10])
            entries = [{"Id": str(n), "MessageBody": body} for n, body in part]
            self.client.send_message_batch(QueueUrl=self.url, Entries=entries)

    def count(self, url: str | None = None) -> int:
        """Messages that are there, hidden ones too."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self.client.get_queue_attributes(QueueUrl=url or self.url, AttributeNames=names)
        return sum(int(found["Attributes"][name]) for name in names)

    def dead_letters(self) -> list[tuple[str, str]]:
        """Body and reason of each."""
        answer = self.client.receive_message(
            QueueUrl=self.dead, MaxNumberOfMessages=10, MessageAttributeNames=["All"]
        )
        return [
            (each["Body"], each["MessageAttributes"]["reason"]["StringValue"])
            for each in answer.get("Messages", ())
        ]


@pytest.fixture
def event(bucket):
    def make(key: str, name: str = "ObjectCreated:Put", **what: object) -> str:
        found = {"key": quote_plus(f"inbox/{key}"), "size": 3, "eTag": "e", **what}
        s3 = {"bucket": {"name": bucket}, "object": found}
        return json.dumps({"Records": [{"eventSource": "aws:s3", "eventName": name, "s3": s3}]})

    return make


class FakeQueue:
    """A queue in memory that counts what is done to it."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.buried: list[str] = []
        self.hidden: list[int | None] = []
        self.takes_dead_letters = True
        self._held: set[str] = set()
        self._sent = 0

    def send(self, *bodies: str, received: int = 1) -> None:
        for body in bodies:
            self._sent += 1
            self.messages.append(Message(str(self._sent), f"r{self._sent}", body, received))

    def shuffle(self, rng: random.Random) -> None:
        rng.shuffle(self.messages)

    def receive(self, wait_s: int = 0) -> list[Message]:
        free = [message for message in self.messages if message.id not in self._held][:10]
        self._held |= {message.id for message in free}
        return free

    def delete(self, messages) -> None:
        done = {message.id for message in messages}
        self.messages = [message for message in self.messages if message.id not in done]

    def hide(self, messages, seconds=None) -> None:
        if messages:
            self.hidden.append(seconds)

    def bury(self, message, reason) -> bool:
        self.buried.append(reason)
        return self.takes_dead_letters


@pytest.fixture
def make_queue() -> type[FakeQueue]:
    return FakeQueue


@pytest.fixture
def started() -> Callable[..., Any]:
    return _started


def _started(store, bucket):
    """What the jobs are of, sorted: the keys of each below the inbox."""
    manifests = [load_manifest(store, JobPaths.of(bucket, job)) for job in queued(store, bucket)]
    return sorted(
        tuple(sorted(key.partition("/inbox/")[2] for key in manifest.inputs.keys))
        for manifest in manifests
    )
