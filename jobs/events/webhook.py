"""Events by HTTP, from MinIO, Ceph, a forwarder of Cloudflare's queue, or anybody with the secret.

Pure: headers and body in, events or a refusal out; who serves it mounts it (`Doors.webhook`). A
request proves itself by a bearer token, or by a signature over its time and body:

    X-Zeroshift-Timestamp: 1796000000
    X-Zeroshift-Signature: sha256=<hex of HMAC-SHA256(key, "1796000000." + body)>

Secrets come from a file or a variable that the settings name, never from the settings.
"""

import base64
import binascii
import hmac
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jobs.errors import SettingsError
from jobs.events.messages import ObjectEvent, Unknown, parse
from jobs.settings.doors import Events

SIGNATURE, TIMESTAMP = "x-zeroshift-signature", "x-zeroshift-timestamp"
SHORTEST_SECRET = 16


@dataclass(frozen=True, slots=True, repr=False)
class Secrets:
    """What senders must know; never printed. None: that way of proof is off."""

    token: bytes | None = None
    key: bytes | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """The events of a request, none for a sender's test; `unread`: why not all could be read."""

    events: tuple[ObjectEvent, ...]
    unread: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """`status` of HTTP, and why in one line that tells no secret."""

    status: int
    reason: str


def load_secrets(settings: Events, environ: Mapping[str, str] = os.environ) -> Secrets:
    """The secrets that the settings name; `SettingsError` in one line when one is not there."""
    return Secrets(
        _secret("token", settings.token_variable, settings.token_file, environ),
        _secret("signing", settings.signing_variable, settings.signing_file, environ),
    )


def _secret(
    name: str, variable: str | None, file: str | None, environ: Mapping[str, str]
) -> bytes | None:
    if variable is None and file is None:
        return None
    if variable is not None and file is not None:
        raise SettingsError(f"events.{name}_variable and events.{name}_file; allowed: one of them")
    try:
        if file is not None:
            where, text = f"events.{name}_file {file}", Path(file).read_text(encoding="utf-8")
        else:
            where, text = f"events.{name}_variable {variable}", environ.get(variable or "", "")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"events.{name}_file: {file} can't be read: {error}") from error
    found = text.strip().encode()
    if len(found) < SHORTEST_SECRET:
        raise SettingsError(
            f"{where}: {'is empty' if not found else 'holds too little'}; allowed: a secret of "
            f"{SHORTEST_SECRET} bytes or more"
        )
    return found


def receive(
    headers: Mapping[str, str], body: bytes, now: float, settings: Events, secrets: Secrets
) -> Accepted | Refused:
    """What a request says, if it may say anything; `now` in seconds since the epoch."""
    if len(body) > settings.max_body_bytes:
        return Refused(413, f"body of more than {settings.max_body_bytes} bytes")
    refusal = refused_unread(headers, now, settings, secrets)
    if refusal is None and secrets.key is not None:
        refusal = _wrongly_signed(_by_lower_name(headers), body, secrets.key)
    if refusal is not None:
        return refusal
    found = parse(body)
    unread = next((each.reason for each in found if isinstance(each, Unknown)), "")
    events = tuple(each for each in found if isinstance(each, ObjectEvent))
    if unread and not events:
        return Refused(400, f"can't be read: {unread}")
    return Accepted(events, unread)


def refused_unread(
    headers: Mapping[str, str], now: float, settings: Events, secrets: Secrets
) -> Refused | None:
    """Why a request is not to be believed, as far as its headers tell; None: they are in order.

    So nobody has us hold a body without the token, or without what looks like a late signature.
    """
    given = _by_lower_name(headers)
    if secrets.token is None and secrets.key is None:
        return Refused(403, "no secret is set; see settings events.token_variable")
    if secrets.key is not None and SIGNATURE in given:
        return _out_of_time(given.get(TIMESTAMP, ""), now, settings.replay_window_s)
    if secrets.token is None:
        return Refused(401, f"not signed; send {SIGNATURE} and {TIMESTAMP}")
    token = _token(given.get("authorization", ""))
    if token is None or not hmac.compare_digest(token, secrets.token):
        return Refused(401, "the bearer token is missing or wrong")
    return None


def _token(authorization: str) -> bytes | None:
    """The token of `Bearer TOKEN`, or of `Basic`, as a sender makes of http://any:TOKEN@host/."""
    scheme, _, rest = authorization.strip().partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip().encode()
    if scheme.lower() != "basic":
        return None
    try:
        return base64.b64decode(rest.strip(), validate=True).partition(b":")[2]
    except (binascii.Error, ValueError):
        return None


def _out_of_time(sent: str, now: float, window_s: float) -> Refused | None:
    if not (sent.isascii() and sent.isdigit() and len(sent) <= 12):
        return Refused(401, f"{TIMESTAMP} is no number of seconds since 1970")
    if abs(now - int(sent)) > window_s:
        return Refused(401, f"{TIMESTAMP} is more than {window_s:g} s from now")
    return None


def _wrongly_signed(given: Mapping[str, str], body: bytes, key: bytes) -> Refused | None:
    """None for what is not signed, too: then it bears the token."""
    if SIGNATURE not in given:
        return None
    signed = given[TIMESTAMP].encode() + b"." + body
    expected = "sha256=" + hmac.digest(key, signed, "sha256").hex()
    if not hmac.compare_digest(given[SIGNATURE].strip().encode(), expected.encode()):
        return Refused(401, "the signature is wrong")
    return None


def _by_lower_name(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
