"""SQS as the few requests that we make of it; its errors leave as ours.

Messages come at least once and in any order. One that is in hand is hidden from others for a time,
and comes back when it is neither deleted nor hidden again.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from jobs.errors import UserError
from jobs.settings.doors import Events
from jobs.store.errors import translate

AT_ONCE = 10  # SQS's own bound for one request
LONGEST_BODY = 200_000  # of SQS's 262,144 bytes, to leave room for the reason


@dataclass(frozen=True, slots=True)
class Message:
    """`receipt` stands for this delivery; `received`: how often it has been delivered."""

    id: str
    receipt: str
    body: str
    received: int


class Queue:
    """One SQS queue, and the one for what nobody can read."""

    def __init__(self, settings: Events, region: str) -> None:
        assert settings.queue_url is not None, "made only where there is a queue"
        self.url, self._dead_letters = settings.queue_url, settings.dead_letter_url
        self._visibility_s = settings.visibility_s
        config = Config(retries={"mode": "standard", "total_max_attempts": 3}, read_timeout=30)
        try:
            self._client = boto3.session.Session().client(
                "sqs", region_name=region, endpoint_url=settings.endpoint_url, config=config
            )
        except (BotoCoreError, ValueError) as error:
            raise UserError(f"the queue's client can't be made: {error}") from error

    def receive(self, wait_s: int = 0) -> list[Message]:
        """At most ten messages; none when nothing has come for `wait_s` seconds."""
        answer = self._call(
            "receive_message",
            MaxNumberOfMessages=AT_ONCE,
            WaitTimeSeconds=wait_s,
            VisibilityTimeout=self._visibility_s,
            MessageSystemAttributeNames=["ApproximateReceiveCount"],
        )
        return [
            Message(
                each["MessageId"],
                each["ReceiptHandle"],
                each["Body"],
                int(each.get("Attributes", {}).get("ApproximateReceiveCount", 1)),
            )
            for each in answer.get("Messages", ())
        ]

    def delete(self, messages: Sequence[Message]) -> None:
        """Acknowledge. One that can't be deleted comes again, and is nothing new then."""
        for part in _tens(messages):
            entries = [{"Id": str(n), "ReceiptHandle": m.receipt} for n, m in enumerate(part)]
            self._call("delete_message_batch", Entries=entries)

    def hide(self, messages: Sequence[Message], seconds: int | None = None) -> None:
        """Keep them from others for so long from now; by default as at their receipt."""
        timeout = self._visibility_s if seconds is None else seconds
        for part in _tens(messages):
            entries = [
                {"Id": str(n), "ReceiptHandle": m.receipt, "VisibilityTimeout": timeout}
                for n, m in enumerate(part)
            ]
            self._call("change_message_visibility_batch", Entries=entries)

    def bury(self, message: Message, reason: str) -> bool:
        """Put it to the dead letters, with the reason; False when there is no queue for them."""
        if self._dead_letters is None:
            return False
        self._call(
            "send_message",
            url=self._dead_letters,
            MessageBody=message.body[:LONGEST_BODY] or "(empty)",
            MessageAttributes={"reason": {"DataType": "String", "StringValue": reason}},
        )
        return True

    def _call(self, operation: str, url: str | None = None, **arguments: Any) -> dict[str, Any]:
        where = url or self.url
        try:
            answer: dict[str, Any] = getattr(self._client, operation)(QueueUrl=where, **arguments)
            return answer
        except (BotoCoreError, ClientError) as error:
            raise translate(error, f"queue {where}") from error


def _tens(messages: Iterable[Message]) -> Iterator[list[Message]]:
    stream = iter(messages)
    while part := list(islice(stream, AT_ONCE)):
        yield part
