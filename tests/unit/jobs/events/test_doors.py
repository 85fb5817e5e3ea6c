"""Events through a real queue: duplicates, disorder and nonsense give one job for each batch."""

import json
import logging
import random
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.addresses import Address, inbox_root
from jobs.errors import StoreUnavailable
from jobs.events.consumer import GONE_AFTER, Consumer
from jobs.events.messages import ObjectEvent
from jobs.queue import queued

MANGLED = ["{}", "nonsense", '{"Records": []}', '{"Records": [{"s3": 1}]}', "[]", "null", '"x"']


def bodies_of(rng, event, batches, total):
    """Events of `batches`: each at least once, in every wrapping, shuffled; some mangled."""
    keys = [key for folder in batches for key in folder]
    bodies = [event(key, sequencer=f"{rng.getrandbits(64):X}") for key in keys]
    while len(bodies) < total:
        kind = rng.random()
        if kind < 0.1:
            bodies.append(rng.choice(MANGLED))
        elif kind < 0.15:
            bodies.append(event(rng.choice(keys))[: rng.randrange(5, 60)])
        elif kind < 0.2:
            bodies.append(json.dumps({"Service": "Amazon S3", "Event": "s3:TestEvent"}))
        elif kind < 0.3:
            bodies.append(json.dumps({"Type": "Notification", "Message": rng.choice(bodies)}))
        elif kind < 0.35:
            bodies.append(event(rng.choice(keys), "ObjectRemoved:Delete"))
        else:
            how = rng.choice(["Put", "Copy", "CompleteMultipartUpload"])
            bodies.append(event(rng.choice(keys), f"ObjectCreated:{how}"))
    rng.shuffle(bodies)
    return bodies


def fill(put, close, count):
    """Closed batches of one to four pictures, with names that need decoding just once."""
    batches = []
    for number in range(count):
        folder = f"line {number:03d}%25+é"
        pictures = [f"{folder}/{n}.png" for n in range(1 + number % 4)]
        put(*pictures)
        close(folder)
        batches.append([*pictures, f"{folder}/_SUCCESS"])
    return batches


def pictures_of(batches):
    return sorted(tuple(sorted(batch[:-1])) for batch in batches)


def test_2000_duplicate_shuffled_and_mangled_events_of_100_batches_are_100_jobs(
    store, bucket, make_doors, put, close, event, started, make_queue
):
    batches = fill(put, close, 100)
    bodies = bodies_of(random.Random(20261130), event, batches, 2000)
    assert len(bodies) == 2000
    queue = make_queue()
    pair = [Consumer(queue, make_doors()._hints, 1000) for _ in range(2)]  # two controllers
    for part in range(0, 2000, 250):
        queue.send(*bodies[part : part + 250])
        pair[part // 250 % 2].consume()
    assert len(queued(store, bucket)) == 100
    assert started(store, bucket) == pictures_of(batches)
    assert queue.messages == []
    assert queue.buried


def test_a_real_queue_of_such_events_is_emptied_and_no_batch_is_lost_or_doubled(
    store, bucket, make_doors, put, close, sqs, event, started
):
    batches = fill(put, close, 5)
    sqs.send(*bodies_of(random.Random(7), event, batches, 60))
    make_doors(events=sqs.events)._consumer.consume()
    assert started(store, bucket) == pictures_of(batches)
    assert sqs.count() == 0
    assert sqs.count(sqs.dead) > 0


@settings(
    deadline=None,
    max_examples=20,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.randoms(use_true_random=False), st.integers(1, 6))
def test_events_in_any_order_while_batches_fill_and_close_are_one_job_a_batch(
    make_queue, started, store, make_doors, put, close, event, rng, folders
):
    """Steps and events are mixed; at the end all the events come once more, as they may."""
    run = f"r{rng.getrandbits(40):010x}"
    steps = []
    for number in range(folders):
        folder = f"{run}-{number}"
        steps += [(folder, f"{folder}/{n}.png") for n in range(rng.randrange(1, 4))]
    batches = {folder: [key for f, key in steps if f == folder] for folder, _ in steps}
    rng.shuffle(steps)
    queue = make_queue()
    doors = make_doors()
    consumer = Consumer(queue, doors._hints, 1000)
    left = {folder: len(keys) for folder, keys in batches.items()}
    for folder, key in steps:
        put(key)
        queue.send(*[event(key)] * rng.randrange(0, 3))
        left[folder] -= 1
        if not left[folder]:
            close(folder)
            queue.send(*[event(f"{folder}/_SUCCESS")] * rng.randrange(1, 3))
        queue.shuffle(rng)
        if rng.random() < 0.5:
            consumer.consume()
    queue.send(*(event(key) for keys in batches.values() for key in keys))
    queue.send(*(event(f"{folder}/_SUCCESS") for folder in batches))
    queue.shuffle(rng)
    consumer.consume()
    bucket = doors._settings.bucket
    found = [each for each in started(store, bucket) if each[0].startswith(run)]
    assert found == sorted(tuple(sorted(keys)) for keys in batches.values())
    assert queue.messages == []


@pytest.fixture
def fake(make_doors, make_queue):
    queue = make_queue()
    doors = make_doors()
    return queue, Consumer(queue, doors._hints, 1000), doors


@pytest.mark.parametrize("body", MANGLED)
def test_what_nobody_can_read_goes_to_the_dead_letters_with_a_reason(
    store, bucket, make_doors, sqs, body
):
    sqs.send(body)
    make_doors(events=sqs.events).look()
    [(found, reason)] = sqs.dead_letters()
    assert found == body
    assert reason
    assert sqs.count() == 0
    assert queued(store, bucket) == []


def test_without_a_queue_for_dead_letters_they_are_left_and_said_to_be(fake, caplog):
    queue, consumer, _ = fake
    queue.takes_dead_letters = False
    queue.send("{}")
    assert consumer.consume() == 1
    assert len(queue.messages) == 1
    assert "left to the queue's redrive policy" in caplog.text


def test_a_test_event_is_acknowledged_and_starts_nothing(store, bucket, make_doors, sqs):
    sqs.send(json.dumps({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": bucket}))
    make_doors(events=sqs.events).look()
    assert (sqs.count(), sqs.count(sqs.dead)) == (0, 0)
    assert queued(store, bucket) == []


def test_a_message_is_acknowledged_only_when_the_job_is_there(
    store, bucket, fake, put, close, event, monkeypatch
):
    queue, consumer, _ = fake
    put("a/1.png")
    close("a")
    queue.send(event("a/_SUCCESS"))

    def busy(*arguments):
        raise StoreUnavailable("busy")

    with monkeypatch.context() as patched:
        patched.setattr("jobs.events.folders.submit", busy)
        consumer.consume()
    assert len(queue.messages) == 1
    queue._held.clear()  # it comes back
    consumer.consume()
    assert queue.messages == []
    assert len(queued(store, bucket)) == 1


def test_messages_in_hand_are_kept_from_others_as_long_as_it_takes(fake, put, event, monkeypatch):
    queue, consumer, doors = fake
    beats, look = threading.Semaphore(0), doors._hints.see
    monkeypatch.setattr(queue, "hide", lambda messages, seconds=None: beats.release())
    monkeypatch.setattr(consumer, "_beat_s", 0.01)

    def slow(events):
        assert all(beats.acquire(timeout=20) for _ in range(3))
        return look(events)

    monkeypatch.setattr(doors._hints, "see", slow)
    put("a/1.png")
    queue.send(event("a/1.png"))
    consumer.consume()
    assert queue.messages == []


def test_an_event_of_what_is_not_there_is_tried_a_few_times_then_given_up(fake, event, caplog):
    queue, consumer, _ = fake
    queue.send(event("a/1.png"))
    consumer.consume()
    assert len(queue.messages) == 1
    assert queue.hidden[-1] is not None
    queue.messages.clear()
    queue.send(event("a/1.png"), received=GONE_AFTER)
    consumer.consume()
    assert queue.messages == []
    assert "object_gone" in caplog.text


def test_a_stale_event_of_what_was_removed_is_no_cause_to_wait(fake, event):
    queue, consumer, _ = fake
    queue.send(event("a/1.png", "ObjectRemoved:Delete", sequencer="02"))
    queue.send(event("a/1.png", sequencer="01FF"))
    consumer.consume()
    assert queue.messages == []


def test_an_event_of_an_empty_object_waits_for_the_full_one(
    store, bucket, make_doors, put, clock, started
):
    doors = make_doors(closed_by="quiet", quiet_s=10)
    place = Address(bucket, "inbox/a/1.png")
    seen = [ObjectEvent(bucket, place.key, "created")]
    store.write(place, b"")
    doors.take(seen)
    store.write(place, b"full")
    doors.take(seen)
    clock.ahead_s = 11
    doors.take(seen)
    assert started(store, bucket) == [("a/1.png",)]


def test_a_quiet_batch_that_only_an_event_told_of_is_taken_when_its_time_has_come(
    store, bucket, make_doors, put, clock, sqs, event, started
):
    put("a/1.png")
    sqs.send(event("a/1.png"))
    rule = {"closed_by": "quiet", "quiet_s": 30}
    make_doors(events=sqs.events, **rule)._consumer.consume()
    assert sqs.count() == 0  # acknowledged, since the folder is noted
    assert len(list(store.list(inbox_root(bucket) / "open/"))) == 1
    doors = make_doors(events=sqs.events, **rule)
    doors._listed_at = 0.0  # no listing comes to its help
    doors._monotonic = lambda: 1.0
    doors.look()
    assert started(store, bucket) == []
    clock.ahead_s = 31
    doors.look()
    assert started(store, bucket) == [("a/1.png",)]
    assert list(store.list(inbox_root(bucket) / "open/")) == []


def test_events_that_were_lost_are_made_up_for_by_a_listing(
    store, bucket, make_doors, put, close, sqs
):
    put("a/1.png")
    close("a")
    assert len(make_doors(events=sqs.events).look()) == 1


def test_an_event_of_another_bucket_or_of_our_own_state_starts_nothing(
    store, bucket, make_doors, caplog
):
    caplog.set_level(logging.INFO, "zeroshift")
    doors = make_doors()
    events = [
        ObjectEvent("elsewhere", "inbox/a/1.png", "created"),
        ObjectEvent(bucket, "zeroshift/jobs/x/record.json", "created"),
        ObjectEvent(bucket, "results/inbox/a/part-00000.jsonl", "created"),
        ObjectEvent(bucket, "inbox/a/", "created"),
    ]
    seen = doors.take(events)
    assert seen.jobs(events) == ()
    assert seen.of(events) == 0
    assert "another bucket" in caplog.text
    assert "which is our own" in caplog.text


def test_the_result_of_a_job_fed_back_as_an_event_starts_nothing(
    store, bucket, make_doors, put, close
):
    put("a/1.png")
    close("a")
    doors = make_doors()
    [submitted] = doors.look()
    marker = Address.parse(submitted.record.output) / "_SUCCESS"
    store.write(marker, json.dumps({"job_id": submitted.record.job_id}).encode())
    fed = [ObjectEvent(bucket, marker.key, "created")]
    assert doors.take(fed).jobs(fed) == ()
    assert len(queued(store, bucket)) == 1
