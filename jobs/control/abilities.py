"""What a store can do, found out at start: before a job is claimed, before anything costs.

Claims rest on conditional writes. Some stores do not know them, some take them and ignore them,
and some refuse the right etag in one of its two spellings; and some keep other bytes than they were
given. The first is lived with, under a guarantee that is said aloud; the last is refused.
"""

import os
import uuid
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

from jobs.addresses import ROOT, Address
from jobs.control import presence
from jobs.errors import Conflict, NotFound, PermanentError, UserError
from jobs.store.bucket import Store

Condition = Literal["enforced", "ignored", "missing", "refused"]
WRONG_ETAG = "0" * 32
PLAIN = bytes(range(256)) * 16  # every byte there is, twice the size of a chunk that is signed


@dataclass(frozen=True, slots=True)
class Abilities:
    """What was found. Bytes are read back as they were written, or there would be no Abilities.

    create    writing only if there is no such object: `enforced`, `ignored` (the second one wrote
              too), `missing` (the store does not know it)
    replace   writing only over a given etag; `refused`: the right etag is refused however spelled
    etags     the spelling that works
    listed    whether an object is in the listing as soon as it is written
    """

    create: Condition
    replace: Condition
    etags: Literal["bare", "quoted"]
    listed: bool

    @property
    def many_controllers(self) -> bool:
        """Whether claims are safe against other controllers."""
        return self.create == self.replace == "enforced"

    def line(self) -> str:
        """What holds on this store, in one line."""
        late = "" if self.listed else "; listings lag behind writes, so new work is seen late"
        if self.many_controllers:
            return f"the store enforces conditional writes: any number of controllers{late}"
        return (
            f"the store does not enforce conditional writes (If-None-Match {self.create}, If-Match "
            f"{self.replace}): one controller at a time; with one, every picture has exactly one "
            f"row; with two, a job could be worked and paid for twice{late}"
        )


def probe(store: Store, bucket: str) -> Abilities:
    """Try everything on objects of our own, tell `store`, and remove them.

    `UserError` when what is read is not what was written, with the setting to change.
    """
    folder = Address(bucket, f"{ROOT}probe/{uuid.uuid4().hex}/")
    try:
        _check_bytes(store, folder / "bytes")
        create, replaced = (
            _probe_create(store, folder / "one"),
            _probe_replace(store, folder / "two"),
        )
        seen = {found.address for found in store.list(folder)}
        listed = {folder / "bytes", folder / "one", folder / "two"} <= seen
    finally:
        for name in ("bytes", "one", "two"):
            with suppress(PermanentError):  # who may not delete can still work
                store.delete(folder / name)
    found = Abilities(create, replaced, store.options.etags, listed)
    store.options = replace(store.options, conditional=found.many_controllers)
    return found


def require_fit(store: Store, bucket: str, controller: str) -> Abilities:
    """`probe`, and `UserError` when this store allows one controller and another is at work."""
    found = probe(store, bucket)
    others = [name for name in presence.present(store, bucket) if name != controller]
    if others and not found.many_controllers:
        raise UserError(f"controller {others[0]} is at work, and {found.line()}")
    return found


def _check_bytes(store: Store, address: Address) -> None:
    body = PLAIN + os.urandom(64)
    store.write(address, body, "application/octet-stream")
    try:
        back = store.read(address)
    except NotFound as error:
        raise UserError(
            f"{address}: not there right after it was written; allowed: a store that shows writes "
            "at once"
        ) from error
    if back == body:
        return
    if body in back or b"x-amz-checksum" in back or b"chunk-signature" in back:
        raise UserError(
            f"{address}: the store keeps the framing of an upload as if it were content; set "
            'checksums = "when_required"'
        )
    raise UserError(
        f"{address}: read back {len(back)} bytes that are not the {len(body)} written; "
        "allowed: a store, or a proxy before it, that leaves bytes as they are"
    )


def _probe_create(store: Store, address: Address) -> Condition:
    store.options = replace(store.options, conditional=True)
    try:
        store.create(address, b"first")
    except Conflict:
        if store.read(address) != b"first":  # else our own, its answer lost
            raise
    if not store.options.conditional:  # the store said so, and was asked without the condition
        return "missing"
    for body in (b"second", b"third"):  # twice: the first may be luck
        with suppress(Conflict):
            store.create(address, body)
            return "ignored" if store.options.conditional else "missing"
    return "enforced" if store.read(address) == b"first" else "ignored"


def _probe_replace(store: Store, address: Address) -> Condition:
    store.options = replace(store.options, conditional=True)
    store.write(address, b"first")
    try:
        store.replace(address, b"second", store.look(address).etag)
    except Conflict:
        if store.read(address) != b"second":  # else our own, its answer lost
            return "refused"
    if not store.options.conditional:
        return "missing"
    with suppress(Conflict):
        store.replace(address, b"third", WRONG_ETAG)
        return "ignored"
    return "enforced" if store.read(address) == b"second" else "ignored"
