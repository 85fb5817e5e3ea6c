"""A handler for AWS Lambda: events come in, jobs are written down, and nothing runs in between.

Set `jobs.events.lambda_handler.handler` as the function's handler, and its environment like any
controller's (`ZEROSHIFT_BUCKET`, `ZEROSHIFT_RULES`, …). Triggers may be the SQS queue (with
`ReportBatchItemFailures`), SNS, S3 itself, EventBridge, or EventBridge's scheduler, which makes it
look at listings and schedules. The jobs are worked by a controller.

Imports are all at the top: they are Lambda's init phase. Settings and client outlive a call; the
doors do not, since what they know by a monotonic clock is wrong after a function was frozen.
"""

import json
import os
import time
from functools import cache
from typing import Any

from jobs.events.doors import Doors
from jobs.events.hints import Seen
from jobs.events.messages import ObjectEvent, TestEvent, Unknown, parse
from jobs.schedules.scheduler import Scheduler
from jobs.settings.settings import Settings, load_settings
from jobs.store.bucket import Store, StoreOptions

Failures = dict[str, list[dict[str, str]]]


def handler(event: dict[str, Any], context: object = None) -> Failures:
    """What Lambda calls; answers which messages of a queue are to come again."""
    return handle(event, *_standing())


@cache
def _standing() -> tuple[Store, Settings]:
    settings = load_settings()
    options = StoreOptions(
        settings.endpoint_url, settings.region, settings.addressing, settings.checksums
    )
    return Store(options), settings


def handle(event: dict[str, Any], store: Store, settings: Settings) -> Failures:
    """The same with a store and settings that are there already."""
    doors = Doors(store, settings)
    failed = []
    for identity, body in _bodies(event):
        found = parse(body)
        if all(isinstance(each, Unknown) for each in found) and not identity:
            _look(doors, store, settings)  # a clock's: nothing but "look now"
        elif any(isinstance(each, Unknown) for each in found):
            failed.append(identity)  # the queue's redrive policy takes it from here
        elif not all(isinstance(each, TestEvent) for each in found):
            events = [each for each in found if isinstance(each, ObjectEvent)]
            if doors.take(events).of(events) is Seen.FAILED:
                failed.append(identity)
    if failed and not all(failed):
        raise RuntimeError("not all could be looked at; Lambda calls again")
    return {"batchItemFailures": [{"itemIdentifier": each} for each in failed]}


def _look(doors: Doors, store: Store, settings: Settings) -> None:
    owner = f"lambda-{os.environ.get('AWS_LAMBDA_LOG_STREAM_NAME', os.getpid())}"
    Scheduler(store, settings, owner, time.time).look()
    doors.look()
    if doors.troubled:
        raise RuntimeError(f"could not look at {', '.join(doors.troubled)}; Lambda calls again")


def _bodies(event: object) -> list[tuple[str, str]]:
    """The messages in an event of Lambda's, each with its id in a queue, or ""."""
    records = event.get("Records") if isinstance(event, dict) else None
    if not isinstance(records, list) or not records or not isinstance(records[0], dict):
        return [("", json.dumps(event))]
    if records[0].get("eventSource") == "aws:sqs":
        return [(each["messageId"], each["body"]) for each in records]
    if records[0].get("EventSource") == "aws:sns":
        return [("", each["Sns"]["Message"]) for each in records]
    return [("", json.dumps(event))]
