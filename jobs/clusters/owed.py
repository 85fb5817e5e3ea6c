"""Owed: writes that must be made although the store is away, kept and tried again in their order.

For what is known once and told to nobody else: that a cluster has gone, and what its job cost. Each
write must be safe to repeat. It is kept in memory: what a controller leaves owed when it goes, the
reaper makes good from the cluster's record.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from jobs.errors import AccessDenied, StoreUnavailable, ZeroshiftError

log = logging.getLogger("zeroshift")
WORTH_WAITING = (StoreUnavailable, AccessDenied)  # credentials are renewed, policies mended
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0


@dataclass(frozen=True, slots=True)
class Debt:
    what: str
    write: Callable[[], object]


class Owed:
    """Belongs to one thread. `clock` counts seconds, of any origin."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._debts: list[Debt] = []
        self._wait_s, self._again_at = FIRST_WAIT_S, 0.0

    def __len__(self) -> int:
        return len(self._debts)

    def write(self, what: str, write: Callable[[], object]) -> None:
        """Write now, and later when the store does not take it; nothing is raised."""
        self._debts.append(Debt(what, write))
        if len(self._debts) == 1:
            self._pay()

    def catch_up(self) -> None:
        """Try again what is owed, at growing intervals."""
        if self._debts and self._clock() >= self._again_at:
            self._pay()

    def settle_up(self, within_s: float) -> None:
        """The same before leaving: wait for the store, but not for ever."""
        until = self._clock() + within_s
        self._wait_s = FIRST_WAIT_S
        self._pay()
        while self._debts and self._clock() < until:
            self._sleep(min(self._wait_s, max(0.0, until - self._clock())))
            self._pay()
        for debt in self._debts:
            log.error("%s: not written in %g s; the reaper will do it", debt.what, within_s)
        self._debts.clear()

    def _pay(self) -> None:
        while self._debts:
            debt = self._debts[0]
            try:
                debt.write()
            except WORTH_WAITING as error:
                log.warning("%s: will be tried again: %s", debt.what, error)
                self._again_at = self._clock() + self._wait_s
                self._wait_s = min(LONGEST_WAIT_S, 2 * self._wait_s)
                return
            except ZeroshiftError as error:
                log.error("%s: %s", debt.what, error)
            self._debts.pop(0)
        self._wait_s = FIRST_WAIT_S
