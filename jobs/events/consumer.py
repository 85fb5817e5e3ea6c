"""Acts on a queue's messages: looks where they point, and acknowledges what has been seen to.

A message is acknowledged when the job's record exists, or when the look has shown that its folder
is not due yet (what decides that is noted in the bucket, see `jobs.events.notes`). What nobody can
read goes to the dead letters. Nothing here starts a cluster: that is the controller's, for a job.
"""

import logging
from collections.abc import Sequence
from functools import partial

from jobs.errors import ZeroshiftError
from jobs.events.hints import Hints, Seen
from jobs.events.messages import ObjectEvent, TestEvent, Unknown, parse
from jobs.events.queue import Message, Queue
from jobs.lease import BEATS_PER_LEASE, Rounds

log = logging.getLogger("zeroshift")
TOGETHER = 100  # messages of one look: most point at the same few folders
MOST = 10_000  # of one call, so that other doors have their turn
GONE_AFTER = 3  # deliveries
GONE_WAIT_S = 10


class Consumer:
    """Takes messages of one queue; `hints` looks at what they point at."""

    def __init__(self, queue: Queue, hints: Hints, visibility_s: int) -> None:
        self._queue, self._hints = queue, hints
        self._beat_s = visibility_s / BEATS_PER_LEASE

    def consume(self, wait_s: int = 0) -> int:
        """Handle what is in the queue now; answers how many messages there were."""
        handled = 0
        while handled < MOST:
            messages = self._gather(0 if handled else wait_s)
            if not messages:
                break
            with Rounds(partial(self._queue.hide, messages), self._beat_s, "visibility"):
                self._handle(messages)
            handled += len(messages)
        return handled

    def _gather(self, wait_s: int) -> list[Message]:
        found = self._queue.receive(wait_s)
        while found and len(found) < TOGETHER:
            more = self._queue.receive()
            if not more:
                break
            found += more
        return found

    def _handle(self, messages: Sequence[Message]) -> None:
        read = {message: parse(message.body) for message in messages}
        events = [e for each in read.values() for e in each if isinstance(e, ObjectEvent)]
        seen = self._hints.see(events)
        done: list[Message] = []
        gone: list[Message] = []
        for message, found in read.items():
            unknown = [each.reason for each in found if isinstance(each, Unknown)]
            if any(isinstance(each, TestEvent) for each in found):
                log.info("queue: a test event came through")
            if unknown and not self._bury(message, unknown[0]):
                continue
            verdict = seen.of(each for each in found if isinstance(each, ObjectEvent))
            lost = verdict is Seen.GONE and message.received >= GONE_AFTER
            if lost:
                log.warning("queue: message %s: object_gone: it points at nothing", message.id)
            if verdict is Seen.DONE or lost:
                done.append(message)
            elif verdict is Seen.GONE:
                gone.append(message)
        self._queue.delete(done)
        self._queue.hide(gone, GONE_WAIT_S)

    def _bury(self, message: Message, reason: str) -> bool:
        try:
            if self._queue.bury(message, reason):
                log.warning("queue: message %s to the dead letters: %s", message.id, reason)
                return True
        except ZeroshiftError as error:
            log.error("queue: message %s can't be put to the dead letters: %s", message.id, error)
            return False
        log.warning(
            "queue: message %s: %s; left to the queue's redrive policy, as "
            "events.dead_letter_url is not set",
            message.id,
            reason,
        )
        return False
