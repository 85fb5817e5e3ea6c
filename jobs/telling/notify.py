"""Tell others what happened: a signed POST, tried a few times, and again later if need be.

The form is that of Standard Webhooks: `webhook-id`, `webhook-timestamp` and `webhook-signature`,
an HMAC-SHA256 over `id.timestamp.body` in base64. An event's id never changes, so whoever gets one
twice can tell. No redirect is followed, and neither secret nor answer goes into a log.
"""

import base64
import hashlib
import hmac
import json
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal

import httpx

from jobs.addresses import notices_root
from jobs.errors import Conflict
from jobs.noun import Noun
from jobs.store.bucket import Store
from jobs.webhook_urls import check_url, shown

__all__ = ["Notifier", "check_url", "sign", "tell_once"]

log = logging.getLogger("zeroshift")
RETRIES = 3
TIMEOUT_S = 5.0
WAITS_S = (0.5, 1.0, 2.0)


class Notifier:
    """Sends events to one address; safe to share between threads."""

    def __init__(
        self,
        url: str,
        secret: bytes,
        client: httpx.Client,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._url, self._secret, self._client = url, secret, client
        self._clock, self._sleep = clock, sleep

    def send(self, event_id: str, kind: str, body: dict[str, Any]) -> bool:
        """Whether the other side took it, after at most `RETRIES` further tries."""
        now = self._clock()
        event = {"type": kind, "timestamp": _utc(now), "data": body}
        content = json.dumps(event, default=str, separators=(",", ":")).encode()
        headers = {
            "content-type": "application/json",
            "webhook-id": event_id,
            "webhook-timestamp": str(int(now)),
            "webhook-signature": sign(self._secret, event_id, int(now), content),
        }
        for wait_s in (*WAITS_S[:RETRIES], None):
            said = self._try(content, headers)
            if said == "taken":
                return True
            if said == "refused" or wait_s is None:
                break
            self._sleep(wait_s)
        log.warning("event %s was not taken by %s", event_id, shown(self._url))
        return False

    def _try(self, content: bytes, headers: dict[str, str]) -> Literal["taken", "refused", "away"]:
        try:
            answer = self._client.post(
                self._url,
                content=content,
                headers=headers,
                timeout=TIMEOUT_S,
                follow_redirects=False,
            )
        except httpx.HTTPError:
            return "away"
        except (httpx.InvalidURL, ValueError):  # no address at all
            return "refused"
        if answer.is_success:
            return "taken"
        # Trying again helps with a server's trouble, and not with a request that it does not want.
        again = answer.is_server_error or answer.status_code in (408, 409, 425, 429)
        return "away" if again else "refused"


def sign(secret: bytes, event_id: str, timestamp: int, content: bytes) -> str:
    """`v1,` and the HMAC-SHA256 of `id.timestamp.content` in base64."""
    signed = f"{event_id}.{timestamp}.".encode() + content
    return "v1," + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()


class Notice(Noun):
    """`zeroshift/notices/<event>.json`: the event was taken, and is not sent again."""

    event_id: str
    kind: str
    sent_at: float


def tell_once(
    store: Store, bucket: str, notifier: Notifier, event_id: str, kind: str, body: dict[str, Any]
) -> bool:
    """Send an event unless it was taken before; whether it has been taken now or then.

    At least once: two who come at the same moment both send it.
    """
    address = notices_root(bucket) / f"{event_id}.json"
    if store.exists(address):
        return True
    if not notifier.send(event_id, kind, body):
        return False
    notice = Notice(event_id=event_id, kind=kind, sent_at=time.time())
    with suppress(Conflict):
        store.create(address, notice.model_dump_json().encode())
    return True


def _utc(moment: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))
