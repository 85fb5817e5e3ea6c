"""Keys of the API: shown once, kept as hashes under `zeroshift/keys/`, compared in constant time.

A token is `zs_<id>_<secret>`. The secret is 256 random bits, so its plain SHA-256 is kept: a slow
hash protects what people think up, and nobody can go through 2**256. The id is no secret; it says
which key is meant, in lists and in the audit log.
"""

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from typing import Literal, get_args

from jobs.addresses import ROOT, Address
from jobs.api.documents import Document
from jobs.errors import NotFound, UserError
from jobs.noun import Noun
from jobs.store.bucket import Store

Scope = Literal["submit", "read", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
HEAD = "zs_"
FRESH_S = 5.0  # how long a revoked key may still work


class Key(Noun):
    """`zeroshift/keys/<id>.json`; times in seconds since the epoch. `admin` may do everything."""

    version: Literal[1] = 1
    id: str
    name: str
    scopes: tuple[Scope, ...]
    sha256: str
    created_at: float
    revoked_at: float | None = None

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes or "admin" in self.scopes


def keys_root(bucket: str) -> Address:
    return Address(bucket, f"{ROOT}keys/")


def create_key(
    store: Store, bucket: str, name: str, scopes: Sequence[str], now: float
) -> tuple[Key, str]:
    """A new key and its token, which nobody can tell afterwards; `UserError` at wrong scopes."""
    wrong = [scope for scope in scopes if scope not in SCOPES]
    if wrong or not scopes:
        found = repr(wrong[0]) if wrong else "none"
        raise UserError(f"scope: found {found}; allowed: {', '.join(SCOPES)}")
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    token = f"{HEAD}{key_id}_{secret}"
    once = tuple(scope for scope in SCOPES if scope in scopes)
    key = Key(id=key_id, name=name, scopes=once, sha256=_digest(token), created_at=now)
    _document(store, bucket, key_id).create(key)
    return key, token


def revoke_key(store: Store, bucket: str, key_id: str, now: float) -> Key:
    """The key, revoked from now on or from when it was; `NotFound` when there is none."""

    def change(old: Key) -> Key:
        return old if old.revoked_at is not None else old.model_copy(update={"revoked_at": now})

    if not key_id.isalnum():
        raise NotFound(f"no key {key_id!r}; see zeroshift keys list")
    try:
        return _document(store, bucket, key_id).change(change)
    except NotFound as error:
        raise NotFound(f"no key {key_id!r}; see zeroshift keys list") from error


def all_keys(store: Store, bucket: str) -> list[Key]:
    """Every key, revoked ones too, the oldest first."""
    found = [
        Key.model_validate_json(store.read(each.address)) for each in store.list(keys_root(bucket))
    ]
    return sorted(found, key=lambda key: key.created_at)


class KeyRing:
    """The bucket's keys in this process, read again when they are `FRESH_S` old.

    So an unknown token costs no request to the store.
    """

    def __init__(
        self, store: Store, bucket: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store, self._bucket, self._clock = store, bucket, clock
        self._keys: dict[str, Key] = {}
        self._read_at: float | None = None
        self._lock = threading.Lock()

    @property
    def is_empty(self) -> bool:
        """Whether there was never a key: a revoked one counts, lest revoking opens the door."""
        return not self._fresh()

    def find(self, token: str) -> Key | None:
        """The key of a token, when it is one and not revoked."""
        key = self._fresh().get(token.removeprefix(HEAD).partition("_")[0])
        # Compared with something in any case, so that ids can't be told from the time.
        is_right = hmac.compare_digest(key.sha256 if key else _digest(""), _digest(token))
        return key if key and is_right and key.revoked_at is None else None

    def holds(self, key: Key) -> bool:
        """Whether a key that was found earlier still stands."""
        return self._fresh().get(key.id) == key and key.revoked_at is None

    def _fresh(self) -> dict[str, Key]:
        with self._lock:
            now = self._clock()
            if self._read_at is None or now - self._read_at > FRESH_S:
                self._keys = {key.id: key for key in all_keys(self._store, self._bucket)}
                self._read_at = now
            return self._keys


def _document(store: Store, bucket: str, key_id: str) -> Document[Key]:
    return Document(store, keys_root(bucket) / f"{key_id}.json", Key)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
