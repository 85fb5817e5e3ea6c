"""The reaper: ends what holds no live lease, verifies that it is gone, and stops its bill.

A cluster ends itself when its lease runs out (`infra.clusters`); this is for what is left then: the
record and the bill, and a cluster whose switch was killed too. It looks at both sides, records in
the bucket and what runs at the providers under the fleet's tag, and acts on a contradiction alone.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from infra.clusters import PROVIDERS
from infra.clusters.base import NodeInterval, Sweeper
from infra.errors import ClusterError
from jobs.account import Tenancy, write_ledger
from jobs.addresses import JobPaths
from jobs.bucket import Store
from jobs.cluster_record import ClusterFile, ClusterRecord, cluster_files, known_fleet
from jobs.errors import Conflict, NotFound
from jobs.order import Attempt
from jobs.record import RecordFile

MakeSweeper = Callable[[str], Sweeper]
SKEW_S = 5.0  # between two machines' clocks: a lease is dead when it is so by either
ELSEWHERE_S = 120.0  # for the switch of a cluster that can't be seen from here


@dataclass(frozen=True, slots=True)
class Orphan:
    """A cluster without a live lease; `file` None: no record either."""

    cluster_id: str
    provider: str
    why: str
    running: tuple[str, ...]
    file: ClusterFile | None

    @property
    def record(self) -> ClusterRecord | None:
        return self.file.record if self.file else None

    @property
    def place(self) -> str:
        return self.file.record.place if self.file else ""


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
    ) -> None:
        self._store, self._bucket, self._name = store, bucket, name
        self._sweeper, self._clock = sweeper, clock
        self._ended: set[str] = set()  # a record of what has gone never changes: read once

    def look(self) -> list[Reaped]:
        """What `reap` would end now."""
        return [Reaped(o.cluster_id, o.why, o.running, "found") for o in self._orphans()]

    def reap(self) -> list[Reaped]:
        """End every orphan; a second call finds none, unless something did not end."""
        return [self._reap(orphan) for orphan in self._orphans()]

    def _orphans(self) -> list[Orphan]:
        fleet = known_fleet(self._store, self._bucket)
        if fleet is None:  # nothing was ever raised
            return []
        # First what runs, then the records: a cluster that is raised meanwhile has its record.
        running = self._running(fleet)
        unread = self._ended - running.keys()
        read = cluster_files(self._store, self._bucket, but=unread)
        files = {file.record.cluster_id: file for file in read}
        self._ended |= {each for each, file in files.items() if file.record.gone_at is not None}
        dead = [o for file in files.values() if (o := self._dead(file, running))]
        suspects = {
            cluster: provider
            for cluster, (provider, _) in running.items()
            if cluster not in files or files[cluster].record.gone_at is not None
        }
        if suspects:  # again: what was going down in order is gone by now
            running = self._running(fleet)
        stray = [
            Orphan(cluster, provider, _why(files.get(cluster)), running[cluster][1], file)
            for cluster, provider in suspects.items()
            if cluster in running
            for file in [files.get(cluster)]
        ]
        return [*dead, *stray]

    def _running(self, fleet: str) -> dict[str, tuple[str, tuple[str, ...]]]:
        return {
            cluster: (provider, tuple(words))
            for provider in PROVIDERS
            for cluster, words in self._sweeper(provider).clusters(fleet).items()
        }

    def _dead(
        self, file: ClusterFile, running: dict[str, tuple[str, tuple[str, ...]]]
    ) -> Orphan | None:
        record = file.record
        over = self._clock() - record.lease_until
        if record.gone_at is not None or over < SKEW_S:
            return None
        here = running.get(record.cluster_id, ("", ()))[1]
        if over < ELSEWHERE_S and not here and not self._sees(record):
            return None
        why = f"its lease ran out {over:.0f} s ago"
        return Orphan(record.cluster_id, record.provider, why, here, file)

    def _sees(self, record: ClusterRecord) -> bool:
        try:
            return self._sweeper(record.provider).sees(record.place)
        except ClusterError:  # a provider that this version does not know
            return False

    def _reap(self, orphan: Orphan) -> Reaped:
        """Claim, end, verify, write down; an orphan that was claimed by another is let be."""

        def told(outcome: Literal["ended", "left", "taken", "unseen"], words: str = "") -> Reaped:
            return Reaped(orphan.cluster_id, orphan.why, orphan.running, outcome, words)

        if orphan.file is not None:
            try:  # from here on its owner, should it come back, can't renew it
                orphan.file.change(owner=self._name)
            except (Conflict, NotFound):
                return told("taken", "its record was written meanwhile")
            if not orphan.running and not self._sees(orphan.file.record):
                self._close(orphan.file, f"not looked at: it stood at {orphan.place}")
                return told("unseen", f"it stood at {orphan.place}; look there")
        sweeper = self._sweeper(orphan.provider)
        left = sweeper.end(orphan.cluster_id, orphan.place)
        if left:
            if orphan.file is not None:
                words = f"{len(left)} processes left by reaper {self._name} at {self._now()}"
                orphan.file.insist(state="failed", gone_at=None, checked=words)
            return told("left", f"still runs: {', '.join(left)}")
        if orphan.file is not None:
            self._close_seen(orphan.file, sweeper)
        sweeper.forget(orphan.cluster_id, orphan.place)
        return told("ended")

    def _close_seen(self, file: ClusterFile, sweeper: Sweeper) -> None:
        record = file.record
        nodes = _merged(record.nodes, sweeper.nodes(record.cluster_id, record.place))
        itself = sweeper.end_reason(record.cluster_id, record.place)
        words = f"no process is left; it ended itself: {itself}" if itself else "no process is left"
        self._close(file, words, nodes)

    def _close(
        self, file: ClusterFile, words: str, nodes: Sequence[NodeInterval] | None = None
    ) -> None:
        """No node of a cluster that is gone may cost anything from now on."""
        now = self._clock()
        file.insist(
            state="failed",
            gone_at=now,
            checked=f"reaped at {self._now()} by {self._name}: {words}",
            nodes=tuple(_closed(file.record.nodes if nodes is None else nodes, now)),
        )
        self._account(file.record, now)

    def _account(self, cluster: ClusterRecord, now: float) -> None:
        """The node time of the job that its controller can't account for any more."""
        if not cluster.tenant:
            return
        paths = JobPaths.of(self._bucket, cluster.tenant)
        with suppress(NotFound):
            job = RecordFile(self._store, paths).load()
            job = job.model_copy(update={"offer": cluster.offer})
            until = max([cluster.since, *(node.gone_at or now for node in cluster.nodes)])
            ready = [at for at in self._ready(paths) if cluster.since <= at <= until]
            tenancy = Tenancy(job, cluster.since, min(ready, default=None))
            write_ledger(self._store, self._bucket, tenancy, cluster, until)

    def _ready(self, paths: JobPaths) -> Iterator[float]:
        for each in self._store.list(paths.root / "attempts/"):
            ready_at = Attempt.model_validate_json(self._store.read(each.address)).ready_at
            if ready_at is not None:
                yield ready_at

    def _now(self) -> str:
        return datetime.fromtimestamp(self._clock(), UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def _why(file: ClusterFile | None) -> str:
    return "there is no record of it" if file is None else "it ended, and yet it runs"


def _merged(known: Sequence[NodeInterval], provider: Sequence[NodeInterval]) -> list[NodeInterval]:
    """Nodes by the record and by the provider, who knows better."""
    return list({node.node_id: node for node in [*known, *provider]}.values())


def _closed(nodes: Sequence[NodeInterval], now: float) -> list[NodeInterval]:
    return [
        node if node.gone_at is not None else NodeInterval(node.node_id, node.launched_at, now)
        for node in nodes
    ]
