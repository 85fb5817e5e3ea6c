"""Which rule a key comes under, of which batch it is, and if none, why: pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from jobs.addresses import ROOT, Address
from jobs.inputs.pin import MARKERS
from jobs.settings.doors import Rule

LONGEST_KEY = 1024  # bytes; no store has a longer one


@dataclass(frozen=True, slots=True)
class Hit:
    """A key under a rule.

    folder   the batch that it is of, such as s3://BUCKET/inbox/line-4/
    inner    the part of the key below the folder
    marker   whether it is no picture: it closes the batch
    """

    rule: Rule
    folder: Address
    inner: str
    marker: bool = False


@dataclass(frozen=True, slots=True)
class Miss:
    """A key that starts nothing; `reason` is one line."""

    reason: str


def hit(rules: Sequence[Rule], address: Address) -> Hit | Miss:
    """The longest prefix wins."""
    key = address.key
    if len(key.encode()) > LONGEST_KEY:
        return Miss(f"no key has more than {LONGEST_KEY} bytes, and this one {len(key.encode())}")
    if key.startswith(ROOT):
        return Miss(f"it lies under {ROOT}, which is our own")
    under = [rule for rule in rules if key.startswith(rule.prefix)]
    if not under:
        known = ", ".join(rule.prefix for rule in rules) or "none"
        return Miss(f"no rule has a prefix of it; prefixes: {known}")
    rule = max(under, key=lambda each: len(each.prefix))
    name, slash, inner = key[len(rule.prefix) :].partition("/")
    if not slash or not name:
        return Miss(f"rule {rule.known_as!r}: it lies in no folder under {rule.prefix}")
    folder = Address(address.bucket, f"{rule.prefix}{name}/")
    if inner in MARKERS:
        return Hit(rule, folder, inner, marker=True)
    if not inner or inner.endswith("/"):
        return Miss(f"rule {rule.known_as!r}: it is a folder, not an object")
    if inner.rpartition("/")[2] in MARKERS:
        return Miss(f"rule {rule.known_as!r}: a marker below the folder closes nothing")
    if rule.match and not any(fnmatchcase(inner, pattern) for pattern in rule.match):
        return Miss(f"rule {rule.known_as!r}: none of its patterns {', '.join(rule.match)} fits")
    return Hit(rule, folder, inner)
