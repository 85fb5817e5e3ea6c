"""Who is signed in: sessions in this process's memory, each of one key.

A session is a random name in a cookie, and a second random text that stands in each form of its
pages. They end with the process, after some hours, or when their key is revoked.
"""

import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from jobs.api.access.keys import Key

LASTS_S = 12 * 3600.0
MOST = 1000  # the oldest goes first: whoever has it signs in again


@dataclass(frozen=True, slots=True)
class Session:
    """`token` stands in each form: a page of somebody else's can't know it."""

    id: str
    token: str
    key: Key
    until: float

    def knows(self, token: str) -> bool:
        return hmac.compare_digest(self.token.encode(), token.encode("utf-8", "replace"))


class Sessions:
    """Safe to share between threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._lock = threading.Lock()

    def start(self, key: Key) -> Session:
        name, token = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        session = Session(name, token, key, self._clock() + LASTS_S)
        with self._lock:
            self._sessions[name] = session
            while len(self._sessions) > MOST:
                self._sessions.popitem(last=False)
        return session

    def find(self, name: str | None) -> Session | None:
        """The session of a cookie; None when there is none any more."""
        with self._lock:
            session = self._sessions.get(name or "")
            if session is not None and session.until < self._clock():
                del self._sessions[session.id]
                return None
            return session

    def end(self, session: Session) -> None:
        with self._lock:
            self._sessions.pop(session.id, None)
