"""What of a folder is new, and whether it is closed: pure, from a listing and a memory."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from jobs.addresses import Address
from jobs.events.memory import Memory
from jobs.events.rules import Hit, hit
from jobs.settings.doors import Rule
from jobs.store.bucket import Found

DAY_S = 86400.0


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder as it was listed: pictures and markers by the part of their key below it."""

    address: Address
    rule: Rule
    pictures: dict[str, Found] = field(default_factory=dict)
    markers: dict[str, Found] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """The same for the same content, whatever the order of the listing."""
        all_of_it = {**self.pictures, **self.markers}
        lines = sorted((name, f.etag, f.modified.isoformat()) for name, f in all_of_it.items())
        return hashlib.sha256(json.dumps(lines).encode()).hexdigest()[:16]

    @property
    def closing(self) -> str:
        """The identity of the marker that closes it; "" when there is none."""
        names = ("_SUCCESS",) if self.rule.closed_by == "quiet" else (self.rule.closed_by,)
        marker = next((self.markers[name] for name in names if name in self.markers), None)
        return f"{marker.etag}@{marker.modified.isoformat()}" if marker else ""

    def fresh(self, memory: Memory) -> dict[str, Found]:
        """What no batch has taken, by key and etag: a rewrite of the same bytes is not new."""
        taken = memory.taken
        return {
            name: found for name, found in self.pictures.items() if (name, found.etag) not in taken
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """`why` it is due, or "": then `due_at`, by the store's clock, or None: a marker decides.

    `alarm` says why a batch that is closed has to wait.
    """

    why: str = ""
    due_at: float | None = None
    alarm: str = ""


def sorted_into(rules: Sequence[Rule], listing: Iterable[Found]) -> dict[Address, Folder]:
    """The folders of a listing; what comes under no rule is left out."""
    folders: dict[Address, Folder] = {}
    for found in listing:
        where = hit(rules, found.address)
        if isinstance(where, Hit):
            folder = folders.setdefault(where.folder, Folder(where.folder, where.rule))
            (folder.markers if where.marker else folder.pictures)[where.inner] = found
    return folders


def judge(folder: Folder, memory: Memory, now: float) -> Verdict:
    """Whether what is fresh of `folder` is a batch now; `now` is the store's time."""
    verdict = _closed(folder, memory, now)
    most = folder.rule.max_batches_per_day
    recent = [batch.taken_at for batch in memory.batches if batch.taken_at > now - DAY_S]
    if not verdict.why or len(recent) < most:
        return verdict
    alarm = f"{len(recent)} jobs in 24 hours; is it fed by its own results? (max_batches_per_day)"
    return Verdict(due_at=min(recent) + DAY_S, alarm=alarm)


def _closed(folder: Folder, memory: Memory, now: float) -> Verdict:
    times = [found.modified.timestamp() for found in folder.fresh(memory).values()]
    rule, last = folder.rule, memory.batches[-1] if memory.batches else None
    if not times:
        return Verdict()
    if folder.closing and (last is None or folder.closing != last.closing):
        return Verdict(f"closed by {rule.closed_by if rule.closed_by != 'quiet' else '_SUCCESS'}")
    if rule.closed_by != "quiet" and last is None:
        return Verdict()
    quiet_at = max(times) + rule.quiet_s
    full_at = min(times) + rule.max_wait_s if rule.max_wait_s is not None else quiet_at
    if min(quiet_at, full_at) > now:
        return Verdict(due_at=min(quiet_at, full_at))
    late = ", after it had been closed" if last is not None and rule.closed_by != "quiet" else ""
    return Verdict(f"quiet for {rule.quiet_s:g} s{late}" if quiet_at <= now else "waited enough")


def batch_id(folder: Address, content: dict[str, str]) -> str:
    """The same for the same keys and etags, in whatever order and however often they are seen."""
    identity = json.dumps([str(folder), sorted(content.items())])
    return hashlib.sha256(identity.encode()).hexdigest()[:24]
