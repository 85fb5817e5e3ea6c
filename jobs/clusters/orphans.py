"""Orphans: clusters without a live lease, by what the bucket says and by what runs."""

from collections.abc import Callable
from dataclasses import dataclass

from infra.clusters import PROVIDERS
from infra.clusters.base import Sweeper
from infra.errors import ClusterError
from jobs.cluster_record import ClusterFile, cluster_files, known_fleet
from jobs.store.bucket import Store

MakeSweeper = Callable[[str], Sweeper]
Running = dict[str, tuple[str, tuple[str, ...]]]  # by cluster: its provider, and what runs of it
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
    def place(self) -> str:
        return self.file.record.place if self.file else ""


class Search:
    """Looks for the orphans of one bucket; kept for several looks, it reads less in each."""

    def __init__(
        self, store: Store, bucket: str, sweeper: MakeSweeper, clock: Callable[[], float]
    ) -> None:
        self._store, self._bucket = store, bucket
        self._sweeper, self._clock = sweeper, clock
        self._ended: set[str] = set()  # a record of what has gone never changes: read once
        self._fleet: str | None = None  # neither does this, once it is drawn

    def orphans(self) -> list[Orphan]:
        """Clusters that nobody holds: what the records say and what runs contradict each other.

        Costs one listing for each thousand clusters there ever were, and a GET for each that has
        not gone. AWS asks 5 USD for a million listings: a look a minute is a quarter USD a month.
        """
        fleet = self._known_fleet()
        if fleet is None:  # nothing was ever raised
            return []
        # First what runs, then the records: a cluster that is raised meanwhile has its record.
        running = self._running(fleet)
        unread = self._ended - running.keys()
        unreadable: set[str] = set()  # somebody else's to hold and to end
        read = cluster_files(self._store, self._bucket, unreadable, but=unread)
        files = {file.record.cluster_id: file for file in read}
        self._ended |= {each for each, file in files.items() if file.record.gone_at is not None}
        dead = [o for file in files.values() if (o := self._dead(file, running))]
        suspects = {
            cluster: provider
            for cluster, (provider, _) in running.items()
            if cluster not in unreadable
            and (cluster not in files or files[cluster].record.gone_at is not None)
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

    def one(self, cluster_id: str) -> Orphan | ClusterFile:
        """That cluster as an orphan, or its record as it is; one GET. `NotFound` without one."""
        file = ClusterFile.load(self._store, self._bucket, cluster_id)
        fleet = self._known_fleet()
        if fleet is None or file.record.gone_at is not None or not self._is_dead(file):
            return file
        return self._dead(file, self._running(fleet)) or file

    def _known_fleet(self) -> str | None:
        self._fleet = self._fleet or known_fleet(self._store, self._bucket)
        return self._fleet

    def _is_dead(self, file: ClusterFile) -> bool:
        return self._clock() - file.record.lease_until >= SKEW_S

    def _running(self, fleet: str) -> Running:
        return {
            cluster: (provider, tuple(words))
            for provider in PROVIDERS
            for cluster, words in self._sweeper(provider).clusters(fleet).items()
        }

    def _dead(self, file: ClusterFile, running: Running) -> Orphan | None:
        record = file.record
        over = self._clock() - record.lease_until
        if record.gone_at is not None or not self._is_dead(file):
            return None
        here = running.get(record.cluster_id, ("", ()))[1]
        if over < ELSEWHERE_S and not here and not self.sees(record.provider, record.place):
            return None
        why = f"its lease ran out {over:.0f} s ago"
        return Orphan(record.cluster_id, record.provider, why, here, file)

    def sees(self, provider: str, place: str) -> bool:
        """Whether what stands there would be found from here."""
        try:
            return self._sweeper(provider).sees(place)
        except ClusterError:  # a provider that this version does not know
            return False


def _why(file: ClusterFile | None) -> str:
    return "there is no record of it" if file is None else "it ended, and yet it runs"
