"""The reaper: ends what holds no live lease, verifies that it is gone, and stops its bill.

A cluster ends itself when its lease runs out (`infra.clusters`); this is for what is left then: the
record and the bill, and a cluster whose switch was killed too. It looks at both sides, records in
the bucket and what runs at the providers under the fleet's tag, and acts on a contradiction alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from infra.clusters.base import NodeInterval, Sweeper
from jobs.cluster_record import ClusterFile
from jobs.clusters.estate import closed, merged, settle
from jobs.clusters.orphans import SKEW_S, MakeSweeper, Orphan, Search
from jobs.errors import Conflict, NotFound
from jobs.lease import LEASE_S
from jobs.plurals import counted
from jobs.store.bucket import Store

__all__ = ["MakeSweeper", "Reaped", "Reaper"]


@dataclass(frozen=True, slots=True)
class Reaped:
    """What became of an orphan. `found`: it would be ended, in a dry run; `taken`: its lease was
    renewed, or somebody else reaps it; `unseen`: closed, but not looked at."""

    cluster_id: str
    why: str
    running: tuple[str, ...]
    outcome: Literal["found", "ended", "left", "taken", "unseen"]
    told: str = ""

    @property
    def alarm(self) -> bool:
        return self.outcome in ("left", "unseen")

    @property
    def line(self) -> str:
        words = f"cluster {self.cluster_id}: {self.why}: {self.outcome}"
        return f"{words}: {self.told}" if self.told else words


class Reaper:
    """Reaps one bucket's clusters under `name`."""

    def __init__(
        self,
        store: Store,
        bucket: str,
        name: str,
        sweeper: MakeSweeper,
        clock: Callable[[], float],
        lease_s: float = LEASE_S,
    ) -> None:
        self._store, self._bucket, self._name = store, bucket, name
        self._sweeper, self._clock, self._lease_s = sweeper, clock, lease_s
        self._search = Search(store, bucket, sweeper, clock)

    def look(self) -> list[Reaped]:
        """What `reap` would end now."""
        return [Reaped(o.cluster_id, o.why, o.running, "found") for o in self._search.orphans()]

    def reap(self) -> list[Reaped]:
        """End every orphan; a second call finds none, unless something did not end."""
        return [self._reap(orphan) for orphan in self._search.orphans()]

    def reap_one(self, cluster_id: str) -> Reaped | Literal["soon"] | None:
        """End that cluster if nobody holds it; "soon" when its lease was not renewed of late.

        A living owner renews several times a lease, so more than half of it is always left.
        """
        found = self._search.one(cluster_id)
        if isinstance(found, Orphan):
            return self._reap(found)
        record = found.record
        if record.gone_at is not None or record.owner == self._name:
            return None
        left_s = record.lease_until - self._clock()
        return "soon" if -SKEW_S < left_s < self._lease_s / 2 else None

    def _reap(self, orphan: Orphan) -> Reaped:
        """Claim, end, verify, write down; an orphan that was claimed by another is let be."""

        def told(outcome: Literal["ended", "left", "taken", "unseen"], words: str = "") -> Reaped:
            return Reaped(orphan.cluster_id, orphan.why, orphan.running, outcome, words)

        if orphan.file is not None:
            try:  # from here on its owner, should it come back, can't renew it
                orphan.file.change(owner=self._name)
            except (Conflict, NotFound):
                return told("taken", "its record was written meanwhile")
            if not orphan.running and not self._search.sees(orphan.provider, orphan.place):
                self._close(orphan.file, f"not looked at: it stood at {orphan.place}")
                return told("unseen", f"it stood at {orphan.place}; look there")
        sweeper = self._sweeper(orphan.provider)
        left = sweeper.end(orphan.cluster_id, orphan.place)
        if left:
            if orphan.file is not None:
                remaining = counted(len(left), "process", "processes")
                words = f"{remaining} left by reaper {self._name} at {self._now()}"
                orphan.file.insist(state="failed", gone_at=None, checked=words)
            return told("left", f"still runs: {', '.join(left)}")
        if orphan.file is not None:
            self._close_seen(orphan.file, sweeper)
        sweeper.forget(orphan.cluster_id, orphan.place)
        return told("ended")

    def _close_seen(self, file: ClusterFile, sweeper: Sweeper) -> None:
        record = file.record
        nodes = merged(record.nodes, sweeper.nodes(record.cluster_id, record.place))
        itself = sweeper.end_reason(record.cluster_id, record.place)
        words = f"no process is left; it ended itself: {itself}" if itself else "no process is left"
        self._close(file, words, nodes)

    def _close(
        self, file: ClusterFile, words: str, nodes: Sequence[NodeInterval] | None = None
    ) -> None:
        """No node of a cluster that is gone may cost anything from now on."""
        now = self._clock()
        write = file.insist if file.record.gone_at is not None else file.close
        ours = write(
            state="failed",
            gone_at=now,
            checked=f"reaped at {self._now()} by {self._name}: {words}",
            nodes=tuple(closed(file.record.nodes if nodes is None else nodes, now)),
        )
        if ours:  # else its owner came back, and bills what it knows better
            settle(self._store, self._bucket, file.record, now)

    def _now(self) -> str:
        return datetime.fromtimestamp(self._clock(), UTC).strftime("%Y-%m-%d %H:%M:%SZ")
