"""What a message about a bucket says, whoever sent it: pure, from bytes to events.

Understood are S3's notifications (as AWS, MinIO and Ceph send them; also within SNS's envelope),
EventBridge's, and Cloudflare R2's, alone or as a list of several. Senders differ in how they write
a key: AWS and MinIO encode it as a form does, so it is decoded once; EventBridge, Ceph and R2 send
it as it is.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote_plus

Kind = Literal["created", "removed", "other"]
CEPH = "ceph:s3"
ENVELOPES = 3  # SNS within SNS is as deep as it gets
R2_KINDS: dict[str, Kind] = {
    "PutObject": "created",
    "CopyObject": "created",
    "CompleteMultipartUpload": "created",
    "DeleteObject": "removed",
    "LifecycleDeletion": "removed",
}
EVENTBRIDGE_KINDS: dict[str, Kind] = {"Object Created": "created", "Object Deleted": "removed"}


@dataclass(frozen=True, slots=True)
class ObjectEvent:
    """Something happened to an object. `sequencer` orders the events of one key; "": not told."""

    bucket: str
    key: str
    kind: Kind
    version: str = ""
    etag: str = ""
    size: int = 0
    sequencer: str = ""


@dataclass(frozen=True, slots=True)
class TestEvent:
    """The sender tries whether it gets through."""

    __test__ = False  # for pytest, which takes the name for its own


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody can read it; `reason` is one line."""

    reason: str


Event = ObjectEvent | TestEvent | Unknown


class _Odd(ValueError):
    """A field is not what it should be; says so in words that fit behind "record with"."""


def parse(body: str | bytes) -> tuple[Event, ...]:
    """The events of a message, at least one; never an error."""
    try:
        return _parse(json.loads(body), ENVELOPES)
    except (ValueError, RecursionError):  # UnicodeDecodeError is a ValueError
        return (Unknown("not JSON"),)


def _parse(document: Any, envelopes: int) -> tuple[Event, ...]:
    if isinstance(document, list):
        return _parse_all(document, envelopes)
    if not isinstance(document, dict):
        return (Unknown(f"not a JSON object but {type(document).__name__}"),)
    if document.get("Type") == "Notification" and isinstance(document.get("Message"), str):
        if not envelopes:
            return (Unknown("envelopes within envelopes"),)
        return _parse(json.loads(document["Message"]), envelopes - 1)
    if document.get("Event") == "s3:TestEvent":
        return (TestEvent(),)
    if isinstance(document.get("Records"), list):
        found = tuple(_read(_of_record, record) for record in document["Records"])
        return found or (Unknown("Records is empty"),)
    if document.get("source") == "aws.s3" and "detail-type" in document:
        return (_read(_of_eventbridge, document),)
    if "action" in document and "object" in document:
        return (_read(_of_r2, document),)
    keys = ", ".join(sorted(map(str, document))[:5]) or "none"
    return (Unknown(f"no known shape; keys: {keys[:100]}"),)


def _parse_all(documents: list[Any], envelopes: int) -> tuple[Event, ...]:
    """Of a sender that gathers its messages, as a forwarder of a queue does."""
    if not envelopes:
        return (Unknown("envelopes within envelopes"),)
    found = tuple(event for each in documents for event in _parse(each, envelopes - 1))
    return found or (Unknown("an empty list"),)


def _read(how: Callable[[dict[str, Any]], ObjectEvent], record: Any) -> Event:
    try:
        event = how(record)
    except KeyError as error:
        return Unknown(f"record without {str(error.args[0])[:40]!r}")
    except UnicodeDecodeError:
        return Unknown("record whose key is not UTF-8")
    except _Odd as error:
        return Unknown(f"record with {error}")
    except (TypeError, ValueError, AttributeError, OverflowError):
        return Unknown("record whose fields are not of the kinds that S3, EventBridge and R2 send")
    if not event.bucket or not event.key:
        return Unknown("record without bucket or key")
    return event


def _of_record(record: dict[str, Any]) -> ObjectEvent:
    what, name = record["s3"]["object"], _text(record["eventName"]).removeprefix("s3:")
    key, sequencer = _text(what["key"]), _text(what.get("sequencer") or "")
    ceph = record.get("eventSource") == CEPH
    return ObjectEvent(
        bucket=_text(record["s3"]["bucket"]["name"]),
        key=key if ceph else unquote_plus(key, errors="strict"),
        kind=_kind(name),
        version=_text(what.get("versionId") or ""),
        etag=_text(what.get("eTag") or what.get("etag") or "").strip('"'),
        size=int(what.get("size") or 0),
        sequencer=_in_order(sequencer) if ceph else sequencer,
    )


def _in_order(sequencer: str) -> str:
    """Ceph's, seconds and nanoseconds with their lowest byte first, so that its text orders it."""
    try:
        seconds, nanoseconds = bytes.fromhex(sequencer[:8]), bytes.fromhex(sequencer[8:])
    except ValueError:
        return ""
    return (seconds[::-1] + nanoseconds[::-1]).hex() if len(sequencer) == 16 else ""


def _kind(name: str) -> Kind:
    if name.startswith("ObjectCreated:"):
        return "created"
    removed = name.startswith(("ObjectRemoved:", "LifecycleExpiration:", "ObjectLifecycle:"))
    return "removed" if removed else "other"


def _of_eventbridge(document: dict[str, Any]) -> ObjectEvent:
    detail, what = document["detail"], document["detail"]["object"]
    return ObjectEvent(
        bucket=_text(detail["bucket"]["name"]),
        key=_text(what["key"]),
        kind=EVENTBRIDGE_KINDS.get(document["detail-type"], "other"),
        version=_text(what.get("version-id") or ""),
        etag=_text(what.get("etag") or what.get("eTag") or "").strip('"'),
        size=int(what.get("size") or 0),
        sequencer=_text(what.get("sequencer") or ""),
    )


def _of_r2(document: dict[str, Any]) -> ObjectEvent:
    what = document["object"]
    return ObjectEvent(
        bucket=_text(document["bucket"]),
        key=_text(what["key"]),
        kind=R2_KINDS.get(document["action"], "other"),
        etag=_text(what.get("eTag") or "").strip('"'),
        size=int(what.get("size") or 0),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _Odd(f"{str(value)[:40]!r} where a text should be")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise _Odd("half of a surrogate pair, which is in no key") from error
    return value


def latest(events: Iterable[ObjectEvent]) -> dict[tuple[str, str], ObjectEvent]:
    """The last event of each (bucket, key), as the sequencers say; an older one is dropped.

    Where a sequencer is missing, the event that was read last counts.
    """
    found: dict[tuple[str, str], ObjectEvent] = {}
    for event in events:
        place = (event.bucket, event.key)
        if place not in found or not is_older(event, found[place]):
            found[place] = event
    return found


def is_older(one: ObjectEvent, other: ObjectEvent) -> bool:
    """Whether `one` happened before `other`: hexadecimal, the shorter filled up with zeros."""
    if not one.sequencer or not other.sequencer:
        return False
    width = max(len(one.sequencer), len(other.sequencer))
    return one.sequencer.upper().ljust(width, "0") < other.sequencer.upper().ljust(width, "0")
