"""A client of the fake store that is held before each request, and let go with a fault.

It stands where the network stands, for checks of histories: one thread an actor, one of them
moving at a time, so that a run is a list of steps and can be run again.
"""

import threading
from collections.abc import Callable
from typing import Any, Literal

from botocore.exceptions import ConnectionClosedError

from jobs.store.memory import MemoryClient, MemoryStore
from jobs.store.patience import Patience

Fault = Literal["none", "before", "lost", "late"]


class Killed(BaseException):
    """The actor's process is gone."""


class Actor:
    """A script in a thread of its own that stops before each request until `step` is called.

    faults of a step: `before`, no effect and no answer; `lost`, effect and no answer; `late`,
    effect and answer, and the same request delivered once more later, through `late`.
    """

    def __init__(self, client: MemoryClient, late: list[Callable[[], object]]) -> None:
        self._client, self._late = client, late
        self._go, self._held = threading.Semaphore(0), threading.Semaphore(0)
        self._fault: Fault = "none"
        self._killed = False
        self.idle = True
        self.error: BaseException | None = None
        patience = Patience(4, tries=2, sleep=lambda s: None)
        self.store = MemoryStore(self, patience)  # type: ignore[arg-type]

    def start(self, script: Callable[[], object]) -> None:
        """Run `script` up to its first request."""
        self.idle = False
        threading.Thread(target=self._run, args=(script,), daemon=True).start()
        self._held.acquire()

    def step(self, fault: Fault = "none") -> None:
        """Let the request go that it is held at, and wait for the next one."""
        if not self.idle:
            self._fault = fault
            self._go.release()
            self._held.acquire()

    def kill(self) -> None:
        self._killed = True
        while not self.idle:
            self.step()

    def _run(self, script: Callable[[], object]) -> None:
        try:
            script()
        except Killed:
            pass
        except BaseException as error:
            self.error = error
        self.idle = True
        self._held.release()

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        request = getattr(self._client, operation)

        def ask(**arguments: Any) -> Any:
            self._held.release()
            self._go.acquire()
            if self._killed:
                raise Killed
            fault, self._fault = self._fault, "none"
            if fault == "before":
                raise ConnectionClosedError(endpoint_url="sim")
            answer = request(**arguments)
            if fault == "lost":
                raise ConnectionClosedError(endpoint_url="sim")
            if fault == "late" and operation in ("put_object", "delete_object"):
                self._late.append(lambda: request(**arguments))
            return answer

        return ask
