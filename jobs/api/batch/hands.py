"""Several batches at a time: one with tens of thousands of lines holds up no other."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

HANDS = 4


class Hands:
    """Threads that each have one batch in hand. One process's; called by one thread.

    patience_s   how long `wait` waits for what is in hand; None: until it is done
    """

    def __init__(self, patience_s: float | None = None) -> None:
        self._patience_s = patience_s
        self._threads = ThreadPoolExecutor(HANDS, thread_name_prefix="batch")
        self._in_hand: dict[str, Future[None]] = {}

    def take(self, batch_id: str, act: Callable[[str], None]) -> None:
        """Begin with a batch, unless it is in hand."""
        if batch_id not in self._in_hand:
            self._in_hand[batch_id] = self._threads.submit(act, batch_id)

    def wait(self) -> None:
        """Until all is done, or patience is at its end; then the rest goes on."""
        done = wait(self._in_hand.values(), self._patience_s).done
        self._in_hand = {name: each for name, each in self._in_hand.items() if each not in done}
        for each in done:
            each.result()

    def close(self) -> None:
        """Until all is done, with nothing begun any more."""
        self._threads.shutdown(wait=True, cancel_futures=True)
