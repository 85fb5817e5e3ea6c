"""The local provider's own record of its nodes: one file a node in the cluster's folder.

It stands in for a cloud's API: the autoscaler's provider writes it from Ray's monitor process, the
controller reads it, and an entry outlives its node so that the bill can be made.
"""

import json
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from infra.clusters.base import NodeInterval
from infra.clusters.local.lease import write_whole

REFUSAL = "refusal.txt"  # no name of a node's file


@dataclass(frozen=True, slots=True)
class NodeEntry:
    node_id: str
    launched_at: float
    gone_at: float | None = None
    tags: dict[str, str] = field(default_factory=dict)

    def interval(self) -> NodeInterval:
        return NodeInterval(self.node_id, self.launched_at, self.gone_at)


class Registry:
    """Node entries under `folder`, each replaced as a whole."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, node_id: str, tags: dict[str, str]) -> None:
        self._write(NodeEntry(node_id, time.time(), tags=dict(tags)))

    def get(self, node_id: str) -> NodeEntry:
        return NodeEntry(**json.loads((self._folder / f"{node_id}.json").read_text()))

    def all(self) -> list[NodeEntry]:
        entries = [self.get(path.stem) for path in self._folder.glob("*.json")]
        return sorted(entries, key=lambda entry: (entry.launched_at, entry.node_id))

    def living(self) -> list[NodeEntry]:
        return [entry for entry in self.all() if entry.gone_at is None]

    def tag(self, node_id: str, tags: dict[str, str]) -> None:
        entry = self.get(node_id)
        self._write(replace(entry, tags={**entry.tags, **tags}))

    def gone(self, node_id: str) -> None:
        """Note the end of a node; a second call changes nothing."""
        entry = self.get(node_id)
        if entry.gone_at is None:
            self._write(replace(entry, gone_at=time.time()))

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
