"""The cluster's lease: a small file in its folder, granted by the controller, judged by the switch.

The file holds a length in seconds and a mark that differs each time; the judge counts from when it
saw the file change, by a monotonic clock. No wall clock is read, so one that is set, forwards or
back, ends no cluster early and keeps none alive.
"""

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

NAME = "lease.json"


def grant(folder: Path, lease_s: float) -> None:
    """Replace the lease as a whole; `FileNotFoundError` when the cluster's folder is gone."""
    write_whole(folder / NAME, json.dumps({"lease_s": lease_s, "mark": secrets.token_hex(8)}))


def write_whole(path: Path, text: str) -> None:
    """Write so that a reader sees the old text or the new one, and never a part."""
    draft = path.with_suffix(f".{os.getpid()}-{secrets.token_hex(4)}.draft")
    try:
        draft.write_text(text)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)  # there only when the disk is full


def read(folder: Path) -> str | None:
    """The lease as it stands; None when there is none."""
    try:
        return (folder / NAME).read_text()
    except OSError:
        return None


@dataclass
class Judge:
    """Says when a cluster must end. `now` is always seconds of one monotonic clock.

    born   when the cluster was raised
    """

    born: float
    lifetime_s: float
    seen: str | None = None
    until: float | None = None

    def verdict(self, text: str | None, now: float) -> str:
        """Why the cluster must end now; empty while it may live."""
        if now - self.born >= self.lifetime_s:
            return f"its lifetime of {self.lifetime_s:g} s is over"
        if text is None:
            return "its lease was removed"
        if text != self.seen:
            self.seen = text
            self.until = now + _length(text)
        if self.until is not None and now >= self.until:
            return f"its lease of {_length(text):g} s was not renewed"
        return ""


def _length(text: str) -> float:
    """Of a lease that can't be read nothing is known: it has run out."""
    try:
        return max(0.0, float(json.loads(text)["lease_s"]))
    except (ValueError, KeyError, TypeError):
        return 0.0
