"""Suspects: clusters of jobs that were taken over, which their owners may have left running.

A job's lease and its cluster's run out at about the same time, so whoever claims the job knows
which cluster to look at, long before the reaper's next round. Only that one record is read.
"""

from jobs.clusters.reaper import Reaped, Reaper
from jobs.errors import NotFound, Unreadable
from jobs.record import Record


class Suspects:
    """Adding comes from one thread and looking from another."""

    def __init__(self, reaper: Reaper) -> None:
        self._reaper = reaper
        self._ids: set[str] = set()

    def add(self, claimed: Record) -> None:
        """The cluster of an earlier epoch, if there was one."""
        if claimed.cluster_id:
            self._ids.add(claimed.cluster_id)

    def reap(self) -> list[Reaped]:
        """End those whose lease is dead; one whose lease soon will be waits for the next look."""
        reaped = []
        for cluster_id in list(self._ids):
            try:
                found = self._reaper.reap_one(cluster_id)
            except (NotFound, Unreadable):
                found = None
            if found == "soon":
                continue
            self._ids.discard(cluster_id)
            if isinstance(found, Reaped):
                reaped.append(found)
        return reaped
