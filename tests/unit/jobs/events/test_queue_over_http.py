"""A queue of another process's: what is in hand stays hidden, what fails always ends in the dead
letters by the queue's own policy, and nothing else waits for it."""

import json
import threading

import boto3
import pytest

from jobs.events.consumer import Consumer
from jobs.events.queue import Queue
from jobs.queue import queued
from jobs.settings.doors import Events

RECEIVED_AT_MOST = 3


@pytest.fixture
def server(moto):
    return moto


@pytest.fixture
def client(store):
    return boto3.client("sqs", region_name="us-east-1", endpoint_url=store.options.endpoint_url)


@pytest.fixture
def urls(client, bucket):
    """A queue that gives up after some deliveries, and where it puts them."""
    dead = client.create_queue(QueueName=f"{bucket}-dead")["QueueUrl"]
    names = ["QueueArn"]
    arn = client.get_queue_attributes(QueueUrl=dead, AttributeNames=names)["Attributes"]["QueueArn"]
    policy = {"deadLetterTargetArn": arn, "maxReceiveCount": RECEIVED_AT_MOST}
    attributes = {"RedrivePolicy": json.dumps(policy)}
    url = client.create_queue(QueueName=f"{bucket}-q", Attributes=attributes)["QueueUrl"]
    return url, dead


@pytest.fixture
def make_consumer(store, urls, make_doors):
    def make(visibility_s):
        events = Events(queue_url=urls[0], endpoint_url=store.options.endpoint_url)
        queue = Queue(events, "us-east-1")
        queue._visibility_s = visibility_s  # less than the settings allow: tests do not wait
        doors = make_doors(events=events)
        return Consumer(queue, doors._hints, visibility_s), doors

    return make


def count(client, url):
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    found = client.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return sum(int(found[name]) for name in names)


def test_while_a_submit_takes_longer_than_messages_are_hidden_nobody_else_gets_them(
    client, urls, make_consumer, put, close, event, monkeypatch, store, bucket
):
    consumer, doors = make_consumer(visibility_s=2)
    queue, hide, see = consumer._queue, consumer._queue.hide, doors._hints.see
    beats = threading.Semaphore(0)
    monkeypatch.setattr(queue, "hide", lambda *what: (hide(*what), beats.release()))
    others = []

    def slow(events):
        assert all(beats.acquire(timeout=60) for _ in range(7))  # of which four make 2 s
        found = client.receive_message(QueueUrl=urls[0], MaxNumberOfMessages=10)
        others.extend(found.get("Messages", ()))
        return see(events)

    monkeypatch.setattr(doors._hints, "see", slow)
    put("a/1.png")
    close("a")
    client.send_message(QueueUrl=urls[0], MessageBody=event("a/1.png"))
    consumer.consume()
    assert others == []
    assert count(client, urls[0]) == 0
    assert len(queued(store, bucket)) == 1


def test_what_fails_at_every_delivery_is_put_away_by_the_queue_and_the_rest_is_done(
    client, urls, make_consumer, put, close, event, monkeypatch, store, bucket
):
    consumer, doors = make_consumer(visibility_s=1)
    look = doors._folders.look
    monkeypatch.setattr(
        doors._folders,
        "look",
        lambda folder, rule: 1 / 0 if "bad" in folder.name else look(folder, rule),
    )
    for folder in ("bad", "good"):
        put(f"{folder}/1.png")
        close(folder)
        client.send_message(QueueUrl=urls[0], MessageBody=event(f"{folder}/1.png"))
    consumer.consume()
    assert (len(queued(store, bucket)), count(client, urls[0])) == (1, 1)
    for _ in range(20 * RECEIVED_AT_MOST):
        if count(client, urls[1]):
            break
        consumer.consume(wait_s=1)
    [left] = client.receive_message(QueueUrl=urls[1])["Messages"]
    assert "bad" in left["Body"]
    assert count(client, urls[0]) == 0
