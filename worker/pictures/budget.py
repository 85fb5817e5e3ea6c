"""Memory that decoders share: a giant waits until there is room for it, small ones pass.

Who waits is served in turn, so that a giant is not kept waiting by small ones for ever.
"""

import threading
from types import TracebackType


class Budget:
    """`mib` for all decoders together. What needs more than all of it gets all of it, alone."""

    def __init__(self, mib: float) -> None:
        self._mib, self._used = mib, 0.0
        self._turn = threading.Lock()
        self._changed = threading.Condition()

    def take(self, mib: float) -> float:
        """Wait for `mib`; answers what was taken."""
        wanted = min(mib, self._mib)
        with self._turn, self._changed:
            self._changed.wait_for(lambda: self._used + wanted <= self._mib)
            self._used += wanted
        return wanted

    def give(self, mib: float) -> None:
        """Give back what was taken."""
        with self._changed:
            self._used -= mib
            self._changed.notify_all()


class Share:
    """What one file holds of the budget, given back at the end of the `with`."""

    def __init__(self, budget: Budget) -> None:
        self._budget, self._held = budget, 0.0

    def raise_to(self, mib: float) -> None:
        """Hold at least `mib`. Waits empty-handed, so that two can't wait for each other."""
        if mib > self._held:
            self.give()
            self._held = self._budget.take(mib)

    def give(self) -> None:
        """Give all of it back."""
        self._budget.give(self._held)
        self._held = 0.0

    def __enter__(self) -> "Share":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.give()
