"""Hand back: SIGTERM to the driver is the notice that the machine under it is taken away.

From then on it hands out nothing, waits for what is in flight, and ends with a status that says so:
`EX_TEMPFAIL`, which is no failure. SIGINT is the order to stop at once.
"""

import os
import signal
import time
from types import FrameType

from worker.errors import HandedBack
from worker.notice import NOTICE_S

HANDED_BACK = os.EX_TEMPFAIL  # 75


class HandBack:
    """Whether the driver was given notice, and how long it may still wait.

    gentle   True once shards fly: a notice before that ends the driver where it stands
    """

    def __init__(self, notice_s: float = NOTICE_S) -> None:
        self._notice_s = notice_s
        self._until: float | None = None
        self.gentle = False

    def install(self) -> None:
        """Listen; again after `ray.init`, which takes SIGTERM for itself."""
        signal.signal(signal.SIGTERM, self._given)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def _given(self, number: int, frame: FrameType | None) -> None:
        self.give()

    def give(self) -> None:
        """Note the notice; a second one does not make it longer."""
        if self._until is None:
            self._until = time.monotonic() + self._notice_s
        if not self.gentle:
            raise HandedBack("before a shard was handed out")

    @property
    def given(self) -> bool:
        return self._until is not None

    @property
    def is_over(self) -> bool:
        """Whether what is in flight must be given up."""
        return self._until is not None and time.monotonic() >= self._until
