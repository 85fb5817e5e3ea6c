"""What the claims of a job before the present one have cost: for its progress, and its budget.

A controller that hands a job back enters its node time when its cluster is gone, and whoever claims
the job next does not wait for that. Until the ledger has it, what the record said at the claim
stands in for it: else a job that changes hands would have its budget anew.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal

from jobs.cost.bill import bill_of
from jobs.cost.entry import Entry
from jobs.record import Record

LOOK_EVERY_S = 10.0


class Earlier:
    """`read` answers what the ledger has of the earlier claims; `record` is as it was claimed."""

    def __init__(
        self, read: Callable[[], Sequence[Entry]], record: Record, clock: Callable[[], float]
    ) -> None:
        self._read, self._clock = read, clock
        self._cluster_id, self._usd_then = record.cluster_id, record.cost_usd
        self._entries, self._read_at = read(), clock()

    def entries(self) -> Sequence[Entry]:
        """As the ledger has them; read again now and then while the last claim's are not there."""
        if self._lacks_the_last and self._clock() - self._read_at >= LOOK_EVERY_S:
            self._entries, self._read_at = self._read(), self._clock()
        return self._entries

    def usd(self) -> Decimal | None:
        """None: a price is unknown."""
        entered = bill_of(self.entries()).usd
        if entered is None or self._usd_then is None or not self._lacks_the_last:
            return entered
        return max(entered, self._usd_then)

    @property
    def _lacks_the_last(self) -> bool:
        return bool(self._cluster_id) and all(
            entry.cluster_id != self._cluster_id for entry in self._entries
        )
