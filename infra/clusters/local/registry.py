"""The local provider's own record of its nodes: one file a node in the cluster's folder.

It stands in for a cloud's API: the autoscaler's provider writes it from Ray's monitor process, the
controller reads it, and an entry outlives its node so that the bill can be made. What a node itself
has to tell lies beside its entry (`signs`), since two writers of one file would lose each other's
words.
"""

import json
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from infra.clusters.base import NodeInterval
from infra.clusters.local import signs
from infra.clusters.local.lease import write_whole

REFUSAL = "refusal.txt"  # no name of a node's file


@dataclass(frozen=True, slots=True)
class NodeEntry:
    node_id: str
    launched_at: float
    gone_at: float | None = None
    tags: dict[str, str] = field(default_factory=dict)
    joined_at: float | None = None
    left_at: float | None = None
    preempted: bool = False

    def interval(self) -> NodeInterval:
        return NodeInterval(
            self.node_id,
            self.launched_at,
            self.gone_at,
            self.joined_at,
            self.left_at,
            self.preempted,
        )

    @property
    def stays(self) -> bool:
        """Whether nobody has asked for its end."""
        return self.left_at is None and self.gone_at is None

    @property
    def latest(self) -> float:
        """The last of its moments: no later one may lie before it, though the clock be set."""
        known = (self.launched_at, self.joined_at, self.left_at, self.gone_at)
        return max(moment for moment in known if moment is not None)


class Registry:
    """Node entries under `folder`, each replaced as a whole."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, node_id: str, tags: dict[str, str]) -> None:
        self._write(NodeEntry(node_id, time.time(), tags=dict(tags)))

    def get(self, node_id: str) -> NodeEntry:
        entry = NodeEntry(**json.loads((self._folder / f"{node_id}.json").read_text()))
        joined, notice = (signs.read(self.signs_of(node_id), each) for each in signs.ALL)
        if joined is not None and entry.stays and entry.joined_at is None:
            entry = replace(entry, joined_at=max(joined, entry.latest))
        if notice is not None and entry.stays:
            entry = replace(entry, left_at=max(notice, entry.latest), preempted=True)
        return entry

    def signs_of(self, node_id: str) -> Path:
        """Where the node's own process leaves its signs."""
        return self._folder / node_id

    def all(self) -> list[NodeEntry]:
        entries = [self.get(path.stem) for path in self._folder.glob("*.json")]
        return sorted(entries, key=lambda entry: (entry.launched_at, entry.node_id))

    def living(self) -> list[NodeEntry]:
        return [entry for entry in self.all() if entry.gone_at is None]

    def tag(self, node_id: str, tags: dict[str, str]) -> None:
        entry = self.get(node_id)
        self._write(replace(entry, tags={**entry.tags, **tags}))

    def leaving(self, node_id: str) -> None:
        """Note that a node is about to be ended: what it says from now on is no notice."""
        self._leaves(node_id, preempted=False)

    def preempted(self, node_id: str) -> None:
        """Note that a node was taken away before it could say so."""
        self._leaves(node_id, preempted=True)

    def _leaves(self, node_id: str, preempted: bool) -> None:
        entry = self.get(node_id)
        if entry.stays:
            moment = max(time.time(), entry.latest)
            self._write(replace(entry, left_at=moment, preempted=preempted))

    def gone(self, node_id: str) -> None:
        """Note the end of a node; a second call changes nothing."""
        entry = self.get(node_id)
        if entry.gone_at is None:
            self._write(replace(entry, gone_at=max(time.time(), entry.latest)))

    def _write(self, entry: NodeEntry) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        write_whole(self._folder / f"{entry.node_id}.json", json.dumps(asdict(entry)))

    def refuse(self, why: str) -> None:
        """Note that no further node can be had, for the controller to read."""
        self._folder.mkdir(parents=True, exist_ok=True)
        write_whole(self._folder / REFUSAL, why)

    def refusal(self) -> str:
        """Why no further node can be had; empty while there are some."""
        try:
            return (self._folder / REFUSAL).read_text()
        except OSError:
            return ""
