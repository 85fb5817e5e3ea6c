"""The dead man's switch of a local cluster: `python -m infra.clusters.local.switch FOLDER`.

Started before anything else of the cluster, in a session of its own, so that it outlives whoever
raised the cluster. It watches the lease; when that is not renewed, or the lifetime is over, or the
switch itself is told to end, it ends the cluster, writes down why, and goes. It is small and knows
no Ray.
"""

import json
import signal
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from infra.clusters.local import lease, processes, teardown
from infra.clusters.local.processes import CLUSTER_TAG, NODE_TAG

ORDERS, READY, REASON = "switch.json", "switch-ready", "end-reason"
LOOKS_PER_LEASE = 20
MOST_S, LEAST_S = 1.0, 0.05  # between two looks
GRACE_S = 1.0  # there is nothing to be saved any more: what was committed is in the bucket
RETRY_S = 2.0  # between two tries to end what does not end


@dataclass(frozen=True, slots=True)
class Orders:
    """What the switch is started with. `born` by the machine's monotonic clock, which all its
    processes share: a switch that is started anew goes on with the same lifetime."""

    cluster_id: str
    born: float
    lifetime_s: float
    lease_s: float
    forget: bool = False

    def write(self, folder: Path) -> None:
        lease.write_whole(folder / ORDERS, json.dumps(asdict(self)))

    @classmethod
    def read(cls, folder: Path) -> "Orders":
        return cls(**json.loads((folder / ORDERS).read_text()))


def end_reason(folder: Path) -> str:
    """What a switch wrote when it ended its cluster; empty when it did not."""
    try:
        return (folder / REASON).read_text()
    except OSError:
        return ""


class Switch:
    """Watches one cluster. Told to end, it ends what is left: no cluster lives without a switch."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._orders = folder, Orders.read(folder)

    def watch(self) -> None:
        """Return when nothing of the cluster is left."""
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # asked for below, never struck
        orders = self._orders
        judge = lease.Judge(orders.born, orders.lifetime_s)
        pause = min(MOST_S, max(LEAST_S, orders.lease_s / LOOKS_PER_LEASE))
        (self._folder / READY).touch()
        while not (why := judge.verdict(lease.read(self._folder), time.monotonic())):
            if signal.sigtimedwait({signal.SIGTERM}, pause):
                why = "its switch was told to end"
                break
        self._end(why)

    def _end(self, why: str) -> None:
        if self._others():
            self._note(why)
        while left := teardown.end_cluster(self._folder, self._orders.cluster_id, GRACE_S):
            self._note(f"{why}; still there: {', '.join(left)}")
            time.sleep(RETRY_S)
        if self._orders.forget:
            teardown.remove(self._folder)

    def _others(self) -> bool:
        spared = (NODE_TAG, teardown.switch_of(self._orders.cluster_id))
        return bool(processes.tagged(CLUSTER_TAG, self._orders.cluster_id, spare=spared))

    def _note(self, why: str) -> None:
        with suppress(OSError):  # a full disk keeps nothing from being ended
            if self._folder.is_dir():
                lease.write_whole(self._folder / REASON, why)


if __name__ == "__main__":
    Switch(Path(sys.argv[1])).watch()
